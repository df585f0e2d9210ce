import type { OfferedTool } from './tool-schemas.ts';
import type { TranscriptEntry } from './transcript.ts';

/** What a provider's own word for the end of an answer means to us. */
export type Finish =
  | 'stop'
  /** It wants tools; there must be some. */
  | 'calls'
  /** Cut at the limit of the answer. */
  | 'length'
  /** Cut because the context was full. */
  | 'overflow'
  | 'refusal'
  | 'filter'
  | 'failed'
  | 'unknown';

/** A tool call as it came over the wire; nothing of it is trusted yet. */
export type WireCall = {
  id?: unknown;
  name?: unknown;
  /** A JSON text, or what a server made of it. */
  arguments?: unknown;
};

/** Tokens of one call as they are billed. `input` is what was neither read from nor written to a cache. */
export type WireUsage = {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
};

/** What a provider says about a fault, in its own words. Only `status` and `code` ever leave the provider's folder. */
export type WireError = { status?: number; code?: string; type?: string; message?: string };

/** One answer of a model in the one shape all providers are reduced to. What it means is decided in `normalise.ts`. */
export type WireAnswer = {
  text: string;
  calls: readonly WireCall[];
  refused: boolean;
  finish: Finish;
  /** The provider's own word, for the record. */
  rawFinish?: string;
  /** The provider said that this is all. False: the connection ended before the answer did. */
  complete: boolean;
  usage?: WireUsage;
  /** Which model answered, by its own account. */
  model?: string;
  error?: WireError;
};

/** What is to be asked, before it takes a provider's shape. */
export type WireRequest = {
  instructions: string;
  situation: string;
  transcript: readonly TranscriptEntry[];
  tools: readonly OfferedTool[];
  maxOutputTokens: number;
};

/** The part of a provider that is its own: its shape of a request, and of an answer. */
export type Wire = {
  /** Name of the API, as shown to operators. */
  api: string;
  /** Sends a request; the SDK's errors may be thrown as they are. */
  post(request: WireRequest, way: { fetch: typeof fetch; signal: AbortSignal }): Promise<Response>;
  events(response: Response, abort: AbortController): AsyncIterable<unknown>;
  /** What an event of a stream adds to the text or to the arguments that are being written; often nothing. */
  pieceOf(event: Record<string, unknown>): string;
  /** Puts a stream together. `sawDone` tells whether the mark of its end has come. */
  collect(
    events: AsyncIterable<unknown>,
    context: { sawDone: () => boolean; request: WireRequest },
  ): Promise<WireAnswer>;
  /** Reads an answer that came in one piece. */
  read(body: Record<string, unknown>, request: WireRequest): WireAnswer;
  /** How many tokens of the provider an o200k token may be, at most. */
  tokenFactor: number;
};
