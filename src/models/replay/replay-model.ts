import { readFileSync } from 'node:fs';
import { InvalidInputError, TurnkeeperError } from '../../contracts/index.ts';
import type { Model, View } from '../../loop/index.ts';
import { exchangeSchema, viewDigest, type RecordedExchange } from './exchange.ts';

/** The recording holds no answer to what the model was asked. */
export class NotRecordedError extends TurnkeeperError {
  readonly code = 'not_recorded';

  constructor(file: string, view: View) {
    super(
      `${file} holds no answer to round ${view.rounds.length + 1} of this conversation: agent, tools or messages have ` +
        'changed since; record it again',
    );
  }
}

/**
 * Plays a recording: the same view gets the answer it got, several in their order, the last one again and again.
 *
 * @throws InvalidInputError when the file is no recording; NotRecordedError from `ask`
 */
export function replayModel(file: string): Model {
  const recorded = Map.groupBy(readRecording(file), ({ view }) => view);
  const played = new Map<string, number>();
  const next = (view: View): { key: string; exchange: RecordedExchange | undefined } => {
    const key = viewDigest(view);
    const all = recorded.get(key) ?? [];
    return { key, exchange: all[Math.min(played.get(key) ?? 0, all.length - 1)] };
  };
  return {
    estimate: (view) => next(view).exchange?.estimate ?? { tokens: 0, costMicros: 0 },
    async ask(view) {
      const { key, exchange } = next(view);
      if (exchange === undefined) throw new NotRecordedError(file, view);
      played.set(key, (played.get(key) ?? 0) + 1);
      const { answer } = exchange;
      if (answer.ok) return answer;
      const { failure, usage } = answer;
      // The moment to come back to has passed since.
      const { retryAt: _, ...rest } = failure;
      return { ok: false, failure: rest, ...(usage === undefined ? {} : { usage }) };
    },
  };
}

function readRecording(file: string): RecordedExchange[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const exchange = exchangeSchema.safeParse(jsonOf(line));
    if (exchange.success) return [exchange.data];
    throw new InvalidInputError(
      `${file}, line ${index + 1}`,
      line,
      'must be an exchange as recording() writes it',
    );
  });
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
