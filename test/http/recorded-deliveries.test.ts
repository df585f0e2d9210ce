import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../src/producers/ingress/index.ts';
import { DeadLetters } from '../../src/store/dead-letters.ts';
import { noMeter } from '../../src/telemetry/metrics/index.ts';
import { delivery, DELIVERIES, STAMPED_AT } from '../producers/ingress/deliveries.ts';
import { startService } from './service.ts';

const PUBLIC_URL = 'https://hooks.example.com';
const PROOF = /^(authorization|x-webhook-secret|x-hub-signature(-256)?|x-.*-signature(-v3)?)$/;

test('what every system sends gets through the service as it was recorded, and not with a proof that is damaged, missing or stale', async () => {
  const { call, results, clock, letters } = await start();

  for (const file of DELIVERIES) {
    const { type, headers, query, rawBody } = sent(file);
    const post = (given: Readonly<Record<string, string>>, search = query, body = rawBody) =>
      call<string>('POST', `/v1/webhooks/${type}${search}`, { body, headers: { ...given } });
    const damaged = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        PROOF.test(name) ? value.slice(0, -3) : value,
      ]),
    );
    const bare = Object.fromEntries(Object.entries(headers).filter(([name]) => !PROOF.test(name)));
    const form = Buffer.from(rawBody.toString().replace(/signature=\w{3}/, 'signature='));
    // Mailgun's proof stands in the body, and SendGrid's in the address.
    const refused =
      type === 'mailgun'
        ? [await post(headers, query, form)]
        : [await post(damaged, query.slice(0, -3)), await post(bare, '')];
    const before = results.length;
    const taken = await post(headers);
    await expect.poll(() => results.length).toBe(before + 1);

    expect([file, ...refused.map(({ status }) => status)]).toEqual([
      file,
      ...refused.map(() => 401),
    ]);
    expect([file, taken.status, results.at(-1)]).toEqual([
      ...[file, 200, expect.stringMatching(/ (accepted|ignored)$/)],
    ]);
    clock.lateMs = 10 * 60_000;
    const late = await post(headers);
    clock.lateMs = 0;
    expect([file, late.status]).toEqual([file, STAMPED.includes(type) ? 401 : 200]);
  }
  expect(await letters.list()).toEqual([]);
});

/** Systems whose proof covers the time they sent it. */
const STAMPED = ['zendesk', 'chatwoot', 'hubspot', 'front-app', 'mailgun'];

async function start() {
  const results: string[] = [];
  const clock = { lateMs: 0 };
  const sources = new Map(DELIVERIES.map((file) => [sent(file).type, delivery(file).source]));
  const service = await startService({
    sources: [...sources.values()],
    publicUrl: PUBLIC_URL,
    meter: {
      ...noMeter,
      add: (name: string, labels: object) => {
        if (name === 'webhook_requests_total') results.push(Object.values(labels).join(' '));
      },
    },
    store: { clockOffsetMs: () => STAMPED_AT + clock.lateMs - Date.now() },
  });
  return { ...service, results, clock, letters: new DeadLetters(service.store) };
}

/** A recorded delivery, as it arrives under the address this service has. */
function sent(file: string) {
  const { request, source } = delivery(file);
  const { type, secrets } = source;
  const query = new URLSearchParams(request.query as Record<string, string>).toString();
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  if (type === 'hubspot') {
    headers['x-hubspot-signature-v3'] = signedForHere(request, secrets[0] ?? '');
  }
  return { type, headers, query: query === '' ? '' : `?${query}`, rawBody: request.rawBody };
}

/** HubSpot signs the address too. */
function signedForHere({ headers, rawBody }: WebhookRequest, secret: string): string {
  return createHmac('sha256', secret)
    .update(`POST${PUBLIC_URL}/v1/webhooks/hubspot`)
    .update(rawBody)
    .update(String(headers['x-hubspot-request-timestamp']))
    .digest('base64');
}
