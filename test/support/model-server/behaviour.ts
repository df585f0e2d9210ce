export type Api = 'chat' | 'responses' | 'messages';

/** A request as the policy sees it. */
export type ModelRequest = {
  api: Api;
  model: string;
  stream: boolean;
  /** Names of the tools that are offered. */
  tools: readonly string[];
  /** What users and tools say, in order, whatever the API. */
  heard: readonly string[];
  body: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Requests before this one. */
  number: number;
};

/** What a model says. Each API puts it into its own words. */
export type Said = {
  text?: string;
  /** Arguments as an object, or as the very text the model writes. */
  calls?: readonly { id?: string; name: string; arguments: object | string }[];
  /** How it ends; another word is sent as it is. Default: `stop`. */
  end?: 'stop' | 'length' | 'refusal' | 'filter' | 'overflow' | { raw: string };
  /** Null: the server does not count. */
  usage?: { input: number; output: number; cached?: number } | null;
};

/** What the server does with one request. */
export type Behaviour =
  /** Answers; `delayMs` before the first byte, `paceMs` between the parts of a stream. */
  | ({ do: 'answer'; delayMs?: number; paceMs?: number } & Said)
  /** Says a part of `said`, then nothing more on an open connection. */
  | { do: 'stall'; said?: Said }
  /** Says a part of `said`, then cuts the connection. */
  | { do: 'cut'; said?: Said }
  /** Cuts the connection without an answer. */
  | { do: 'hang_up' }
  | { do: 'status'; status: number; body?: unknown; headers?: Record<string, string> }
  /** 200 with a body of any kind. */
  | { do: 'body'; body: unknown; type?: string }
  /** A stream of these events, for dialects and faults of its own. */
  | { do: 'events'; events: readonly (object | string)[] };

export type Policy = (request: ModelRequest) => Behaviour | Promise<Behaviour>;

/** One event of a stream. Text is sent as it is. */
export type StreamEvent = { event?: string; data: object | string };

/** Cuts a text the way models stream it. */
export function pieces(text: string, size = 7): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? [];
}

export function jsonOf(args: object | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}
