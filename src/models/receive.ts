import type { ModelFailure } from '../contracts/index.ts';
import type { ModelCall } from '../loop/index.ts';
import { redactText } from '../telemetry/index.ts';
import { cutOf, failureOf, isRecord, networkFailure, wireError } from './failures.ts';
import { Line, parsed } from './line.ts';
import type { Wire, WireAnswer, WireRequest } from './wire.ts';

/** What can be learnt about an endpoint from one call. */
export type LineReport = {
  streamed: boolean;
  status?: number;
  /** The provider's own words about an error, for the operator who tests the endpoint; never stored. */
  said?: string;
};

export type Received = LineReport & ({ answer: WireAnswer } | { failure: ModelFailure });

/** Speaks to the endpoint once. Whatever happens is a value; nothing of the call is left behind. */
export async function receive(
  wire: Wire,
  request: WireRequest,
  call: ModelCall,
): Promise<Received> {
  const { signal, heartbeat } = call;
  const line = new Line(heartbeat);
  const abort = new AbortController();
  const stop = (): void => abort.abort(signal.reason);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let whole = false;
  try {
    const response = await wire.post(request, { fetch: line.fetch, signal: abort.signal });
    if (!line.isStream) {
      const body = parsed(await response.text());
      whole = true;
      if (!isRecord(body)) {
        return {
          ...lineOf(line),
          failure: { kind: 'server_error', detail: 'the answer is not JSON' },
        };
      }
      const { status } = response;
      const error = isRecord(body['error']) ? { error: wireError(body, status) } : {};
      return { ...lineOf(line), answer: { ...wire.read(body, request), ...error } };
    }
    const answer = await wire.collect(watched(wire, wire.events(response, abort), call.writing), {
      request,
      sawDone: () => line.sawDone,
    });
    whole = answer.complete;
    // The SDKs end a stream that was aborted as if it had come to its end.
    if (signal.aborted && !whole) return { ...lineOf(line), failure: cutOf(signal) };
    return { ...lineOf(line), answer };
  } catch (error) {
    return { ...lineOf(line), failure: failureThrown(error, line, signal) };
  } finally {
    signal.removeEventListener('abort', stop);
    // Gives the socket back when the answer was not read to its end.
    if (!whole) abort.abort();
  }
}

/** The events of a stream, each shown to whoever looks on. */
async function* watched(
  wire: Wire,
  events: AsyncIterable<unknown>,
  writing: ModelCall['writing'],
): AsyncGenerator<unknown, undefined> {
  for await (const event of events) {
    const piece = isRecord(event) ? wire.pieceOf(event) : '';
    if (piece !== '') writing?.(piece);
    yield event;
  }
}

function failureThrown(error: unknown, line: Line, signal: AbortSignal): ModelFailure {
  if (signal.aborted) return cutOf(signal);
  const { response, errorBody } = line;
  if (response !== undefined && response.status >= 400) {
    return failureOf(wireError(errorBody, response.status), { headers: response.headers });
  }
  return error instanceof SyntaxError
    ? { kind: 'server_error', detail: 'the stream is not JSON' }
    : networkFailure(error);
}

function lineOf(line: Line): LineReport {
  const status = line.response?.status;
  const said = line.errorBody === undefined ? undefined : wireError(line.errorBody).message;
  return {
    streamed: line.isStream,
    ...(status === undefined ? {} : { status }),
    ...(said === undefined ? {} : { said: redactText(said).trim() }),
  };
}
