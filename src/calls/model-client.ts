import type { ModelAnswer } from '../loop/index.ts';
import type { Model, ModelClient } from '../loop/index.ts';
import { within } from './outside-call.ts';

/** Puts the runtime's limits around a model. A provider that throws is a defect; the turn gets a failure all the same. */
export function modelClient(model: Model): ModelClient {
  return {
    ...(model.account === undefined ? {} : { account: model.account }),
    estimate: (view) => model.estimate(view),
    async ask(view, limits): Promise<ModelAnswer> {
      const { timeoutMs } = limits;
      const end = await within(limits, (call) => model.ask(view, { ...call, timeoutMs }));
      switch (end.kind) {
        case 'answered':
          return end.value;
        case 'threw':
          throw end.error;
        case 'cut': {
          const kind = end.by === 'stop' ? 'aborted' : end.by;
          return { ok: false, failure: { kind, ...(end.abandoned ? { abandoned: true } : {}) } };
        }
        default:
          return end satisfies never;
      }
    },
  };
}
