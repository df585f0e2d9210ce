import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import {
  InvalidInputError,
  type DeliveryTarget,
  type OutgoingMessage,
  type SendResult,
} from '../contracts/index.ts';
import { isNearbyAddress, isPublicAddress } from './addresses.ts';
import { call, type CallOutcome } from './call.ts';
import { failureOf } from './desk-api.ts';
import { endpointOf } from './endpoint.ts';

export type WebhookOptions = {
  /** Where messages are posted to: https, on a public address. */
  url: string;
  /** Standard Webhooks secrets (`whsec_…`). Each signs, so that the receiver can change its own at any time. */
  secrets: readonly string[];
  /** Allows plain http and addresses of this machine and the network around it. Default false. */
  development?: boolean;
  /** How names become addresses. Default: as the system does it. */
  lookup?: LookupFunction;
};

/** Failures in front of the receiver that no other try will change. */
const FINAL = ['address_not_allowed'];
/** Nothing about the message will be another at the next try. */
const CONFLICT = 409;
/** A receiver that says no may say why, in these words. */
const refusalSchema = z.object({
  code: z.enum(['ticket_closed', 'ticket_merged', 'ticket_deleted', 'human_owner']),
});

/**
 * The way back to any system that takes a signed webhook (standardwebhooks.com). Its id is the same at every try: that
 * is the key by which the receiver knows a repeat, so nothing has to be read back before one.
 *
 * @throws InvalidInputError when the URL or a secret cannot be used
 */
export function webhookTarget(options: WebhookOptions): DeliveryTarget {
  const { development = false, lookup } = options;
  const url = endpointOf('url', options.url, development);
  const signers = signersOf(options.secrets);
  const allowed = development ? isNearbyAddress : isPublicAddress;
  return {
    async send(message, deadline) {
      const body = bodyOf(message);
      const now = new Date();
      const outcome = await call({
        method: 'POST',
        url,
        body,
        headers: {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
          'webhook-id': message.reference,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
          'webhook-signature': signers
            .map((signer) => signer.sign(message.reference, now, body))
            .join(' '),
        },
        deadline,
        allowed,
        lookup,
      });
      return resultOf(outcome, message);
    },

    find: async () => ({ kind: 'absent' }),
  };
}

/** A secret is never part of an error. */
function signersOf(secrets: readonly string[]): Webhook[] {
  if (secrets.length === 0) throw new InvalidInputError('secrets', secrets, 'give at least one');
  return secrets.map((secret, index) => {
    try {
      return new Webhook(secret);
    } catch {
      const expected = 'give the base64 of 24 to 64 random bytes, as whsec_<base64>';
      throw new InvalidInputError(`secrets.${index}`, '(hidden)', expected);
    }
  });
}

function bodyOf({ source, externalId, kind, text, reference }: OutgoingMessage): string {
  return JSON.stringify({
    type: `turnkeeper.${kind}`,
    data: { source, conversationId: externalId, kind, text, reference },
  });
}

function resultOf(outcome: CallOutcome, { reference }: OutgoingMessage): SendResult {
  const failure = failureOf(outcome);
  if (failure === undefined) return { kind: 'sent', targetId: reference };
  if (outcome.kind !== 'answered') {
    return FINAL.includes(failure.reason) ? { kind: 'refused', reason: failure.reason } : failure;
  }
  const { status, body } = outcome;
  const said = status >= 400 && status < 500 ? saidIn(body) : undefined;
  if (said !== undefined) return { kind: 'refused', reason: said };
  if (failure.kind !== 'refused' && status !== CONFLICT) return failure;
  return { kind: 'refused', reason: status < 400 ? 'redirected' : `http_${status}` };
}

/** Of the receiver's answer nothing goes on but a word of ours. */
function saidIn(body: string): string | undefined {
  try {
    return refusalSchema.parse(JSON.parse(body)).code;
  } catch {
    return undefined;
  }
}
