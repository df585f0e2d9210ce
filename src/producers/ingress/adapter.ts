import type { Fact } from './facts.ts';
import { mailFact, type Mail } from './mail/mail.ts';
import type { Mapped } from './mapped.ts';
import type { WebhookRequest } from './request.ts';
import type { Verify } from './signature.ts';
import { sort, type SourceSettings } from './sort.ts';

/** What a sender is told. */
export type Answer = { status: number; headers?: Readonly<Record<string, string>> };

/** Chosen per system: each does something else with a status. */
export type Answers = {
  /** Everything in it is stored, known, or left alone on purpose. */
  taken: Answer;
  /** Genuine, but not known to be stored: the answer that makes the system try again, if any does. */
  notStored: Answer;
  /** Genuine, but nothing the system should send: kept as a dead letter and not asked for again. */
  unreadable: Answer;
};

export const USUAL_ANSWERS: Answers = {
  taken: { status: 200 },
  notStored: { status: 503, headers: { 'retry-after': '30' } },
  unreadable: { status: 200 },
};

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/**
 * Who sends a delivery again that we did not take, and for how long the same one may come. What nobody sends again has
 * to be looked for: by re-reading the conversations that changed.
 */
export type Redelivery = { by: 'source' | 'person' | 'nobody'; forMs: number };

type Place = { conversationId: string; messageId: string };

/** How to read again, through the API of a system, what a payload leaves out. */
export type Reread = {
  /** Below the API root, query included. */
  path: (of: Place) => string;
  /** What the answer holds. Throws when it is not one of the system's. */
  facts: (answer: unknown, of: Place) => readonly Fact[];
};

export type AdapterSpec = {
  verify: Verify;
  /** By what our own posts are told when they come back: `configureSource` asks for it. */
  own: 'authors' | 'addresses' | 'none';
  redelivery: Redelivery;
  answers?: Partial<Answers>;
  reread?: Reread;
} & (
  | {
      /** What a JSON payload says. Pure; throws when the system does not send such a thing. */
      facts: (payload: unknown, request: WebhookRequest) => readonly Fact[];
    }
  | {
      /** The mail in a delivery. Throws when there is none. */
      mail: (request: WebhookRequest) => Mail | Promise<Mail>;
    }
);

export type Adapter = {
  verify: Verify;
  /** What a genuine delivery means. Rejects when it is nothing the system sends. */
  map: (request: WebhookRequest, source: SourceSettings) => Promise<Mapped>;
  own: AdapterSpec['own'];
  redelivery: Redelivery;
  answers: Answers;
  reread?: Reread;
};

export function defineAdapter(spec: AdapterSpec): Adapter {
  const { verify, own, redelivery, answers, reread } = spec;
  return {
    verify,
    async map(request, source) {
      const facts =
        'mail' in spec
          ? [mailFact(await spec.mail(request), request, source)]
          : spec.facts(json(request), request);
      return sort(facts, source);
    },
    own,
    redelivery,
    answers: { ...USUAL_ANSWERS, ...answers },
    ...(reread === undefined ? {} : { reread }),
  };
}

function json({ rawBody }: WebhookRequest): unknown {
  return JSON.parse(rawBody.toString('utf8'));
}
