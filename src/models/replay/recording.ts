import { appendFile } from 'node:fs/promises';
import { proposalSchema } from '../../contracts/index.ts';
import type { Model, ModelAnswer } from '../../loop/index.ts';
import { redactText } from '../../telemetry/index.ts';
import { cutOf } from '../failures.ts';
import { viewDigest, type RecordedExchange } from './exchange.ts';

/**
 * A model that writes down how it answered, one exchange a line, for `replayModel`. Keys, mail addresses and account
 * numbers are taken out; what else customers wrote is only in it where the model repeats it.
 */
export function recording(model: Model, file: string): Model {
  const write = async (exchange: RecordedExchange): Promise<void> => {
    await appendFile(file, `${JSON.stringify(exchange, redacted)}\n`, { mode: 0o600 });
  };
  return {
    ...model,
    async ask(view, call) {
      const about = { view: viewDigest(view), estimate: model.estimate(view) };
      let answer: ModelAnswer;
      try {
        answer = await model.ask(view, call);
      } catch (error) {
        if (call.signal.aborted) {
          await write({ ...about, answer: { ok: false, failure: cutOf(call.signal) } });
        }
        throw error;
      }
      await write({ ...about, answer: storable(answer) });
      return answer;
    },
  };
}

/** A proposal that fits no schema is played again as the failure the runtime makes of it. */
function storable(answer: ModelAnswer): RecordedExchange['answer'] {
  if (!answer.ok) {
    const { failure, usage } = answer;
    return { ok: false, failure, ...(usage === undefined ? {} : { usage }) };
  }
  const { proposal, usage, model } = answer;
  const parsed = proposalSchema.safeParse(proposal);
  return parsed.success
    ? { ok: true, proposal: parsed.data, usage, model }
    : { ok: false, failure: { kind: 'invalid_proposal' }, usage };
}

function redacted(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? redactText(value) : value;
}
