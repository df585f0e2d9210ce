import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ADAPTERS, REPLAY_WINDOW_MS } from '../../../src/producers/ingress/index.ts';
import type { WebhookRequest } from '../../../src/producers/ingress/index.ts';
import { delivery, DELIVERIES, fixture, made, sourceOf, STAMPED_AT } from './deliveries.ts';

/** Systems that sign what they send; Mailgun signs two fields of it. */
const UNSIGNED: readonly string[] = ['freshdesk', 'gorgias', 'postmark', 'sendgrid', 'mime'];
const signed = DELIVERIES.filter((file) => {
  const { type } = delivery(file).source;
  return !UNSIGNED.includes(type) && type !== 'mailgun';
});
const STAMPS: Readonly<Record<string, string>> = {
  zendesk: 'x-zendesk-webhook-signature-timestamp',
  chatwoot: 'x-chatwoot-timestamp',
  hubspot: 'x-hubspot-request-timestamp',
  'front-app': 'x-front-request-timestamp',
};
const stamped = DELIVERIES.filter((file) => delivery(file).source.type in STAMPS);

function verify(file: string, change: Partial<WebhookRequest> = {}, secrets?: readonly string[]) {
  const { request, source } = delivery(file);
  return source.adapter.verify({ ...request, ...change }, secrets ?? source.secrets);
}

test.each(DELIVERIES)('what %s was sent with proves it genuine', (file) => {
  expect(verify(file)).toEqual({ ok: true });
});

test.each(DELIVERIES)('%s is refused with 401 under another secret, and without any', (file) => {
  expect(verify(file, {}, ['another-secret'])).toMatchObject({
    status: 401,
    reason: 'bad_signature',
  });
  expect(verify(file, {}, [])).toMatchObject({ ok: false, status: 401 });
});

test.each(DELIVERIES)('%s is believed while the secret is exchanged, old and new', (file) => {
  const [secret = ''] = delivery(file).source.secrets;

  expect(verify(file, {}, ['the-new-secret', secret])).toEqual({ ok: true });
  expect(verify(file, {}, [secret, 'the-old-secret'])).toEqual({ ok: true });
});

test.each(signed)('no change of the bytes of %s goes unnoticed', (file) => {
  const { rawBody } = delivery(file).request;

  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: rawBody.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      (at, flip) => {
        const altered = Buffer.from(rawBody);
        altered.writeUInt8(altered.readUInt8(at) ^ flip, at);
        expect(verify(file, { rawBody: altered })).toMatchObject({ status: 401 });
      },
    ),
    { numRuns: 200 },
  );
  for (const altered of [
    Buffer.concat([rawBody, Buffer.from('\r\n')]),
    rawBody.subarray(0, -1),
    Buffer.alloc(0),
    Buffer.from(JSON.stringify(JSON.parse(rawBody.toString()), undefined, 1)),
  ]) {
    expect(verify(file, { rawBody: altered })).toMatchObject({ status: 401 });
  }
});

test.each(DELIVERIES.filter((file) => delivery(file).source.type !== 'mailgun'))(
  '%s is refused with 401 without the header that proves it, and with a damaged one',
  (file) => {
    const { request } = delivery(file);
    const proofs = ['x-hub-signature', 'x-hub-signature-256', 'authorization', 'x-webhook-secret'];
    const isProof = (name: string) => proofs.includes(name) || /-signature(-v3)?$/.test(name);
    const bare = Object.entries(request.headers).filter(([name]) => !isProof(name));
    const damaged = Object.entries(request.headers).map(([name, value]) =>
      isProof(name) ? [name, String(value).slice(0, -3)] : [name, value],
    );

    expect(verify(file, { headers: Object.fromEntries(bare), query: {} })).toMatchObject({
      status: 401,
      reason: 'missing_signature',
    });
    expect(verify(file, { headers: Object.fromEntries(damaged), query: {} })).toMatchObject({
      status: 401,
    });
  },
);

test.each(stamped)(
  '%s is refused with 401 when its stamp is stale, moved, odd or missing',
  (file) => {
    const { request, source } = delivery(file);
    const stamp = STAMPS[source.type] ?? '';
    const withStamp = (value: string | undefined) =>
      verify(file, { headers: { ...request.headers, [stamp]: value } });

    expect(verify(file, { receivedAt: STAMPED_AT + REPLAY_WINDOW_MS })).toEqual({ ok: true });
    expect(verify(file, { receivedAt: STAMPED_AT + REPLAY_WINDOW_MS + 1 })).toMatchObject({
      status: 401,
      reason: 'stale',
    });
    expect(verify(file, { receivedAt: STAMPED_AT - REPLAY_WINDOW_MS - 1 })).toMatchObject({
      status: 401,
      reason: 'stale',
    });
    expect(withStamp(undefined)).toMatchObject({ status: 401, reason: 'missing_stamp' });
    for (const moved of ['1772619331', '1772619331000', '2026-03-04T10:15:31Z', '', 'soon', '-1']) {
      expect(withStamp(moved)).toMatchObject({ status: 401, reason: 'bad_signature' });
    }
  },
);

test('a genuine stamp that is no time is refused', () => {
  const secret = 'zd-test-signing-secret';
  const body = '{}';
  const signature = createHmac('sha256', secret).update(`yesterday${body}`).digest('base64');
  const request = made(body, {
    'x-zendesk-webhook-signature': signature,
    'x-zendesk-webhook-signature-timestamp': 'yesterday',
  });

  expect(ADAPTERS.zendesk.verify(request, [secret])).toMatchObject({ reason: 'bad_stamp' });
});

test('the order an older page of Zendesk documents, body before stamp, is not accepted', () => {
  const request = made('{"say": "hello"}', {
    'x-zendesk-webhook-signature-timestamp': '2021-07-25T10:00:00Z',
    'x-zendesk-webhook-signature': 'tRDSF7URY8BLCDlaBcQ7FHu051Zk+aAB0NKMP53teMw=',
  });
  const at = { ...request, receivedAt: Date.parse('2021-07-25T10:00:00Z') };

  expect(
    ADAPTERS.zendesk.verify(at, ['HRkRd4BeOAoUkfZr-mhauJT64rvBASlJRoIyPsd3zeA=']),
  ).toMatchObject({ status: 401 });
});

test('HubSpot signs method and public address too', () => {
  const file = 'hubspot.batch.json';

  expect(verify(file, { method: 'PUT' })).toMatchObject({ status: 401 });
  expect(verify(file, { url: 'https://10.0.0.7:8080/in/hubspot' })).toMatchObject({ status: 401 });
});

test('the two hooks of Front share a header name and nothing else', () => {
  const rule = delivery('front.rule.inbound.json').request;
  const app = delivery('front.app.inbound_received.json').request;

  expect(ADAPTERS['front-app'].verify(rule, ['front-rule-api-secret'])).toMatchObject({
    status: 401,
  });
  expect(ADAPTERS['front-rule'].verify(app, ['front-app-signing-key'])).toMatchObject({
    status: 401,
  });
});

test('Mailgun is refused with 401 when stamp, token or signature change, are missing or stale', () => {
  const file = 'mailgun.inbound.fields.json';
  const { request } = delivery(file);
  const altered = (change: (form: URLSearchParams) => void) => {
    const form = new URLSearchParams(request.rawBody.toString());
    change(form);
    return verify(file, { rawBody: Buffer.from(form.toString()) });
  };

  for (const field of ['timestamp', 'token', 'signature']) {
    expect(altered((form) => form.set(field, `${form.get(field)}0`))).toMatchObject({
      status: 401,
      reason: 'bad_signature',
    });
    expect(altered((form) => form.delete(field))).toMatchObject({ status: 401 });
  }
  expect(verify(file, { receivedAt: STAMPED_AT + REPLAY_WINDOW_MS + 1 })).toMatchObject({
    status: 401,
    reason: 'stale',
  });
  expect(verify(file, { rawBody: Buffer.from('no form') })).toMatchObject({ status: 401 });
});

test.each(['freshdesk', 'gorgias', 'postmark', 'sendgrid', 'mime'] as const)(
  '%s signs nothing: its secret is taken as password, header or query, and nothing else is',
  (type) => {
    const secrets = ['first-secret', 'second-secret'];
    const verifyOf = (request: Partial<WebhookRequest>) =>
      ADAPTERS[type].verify({ ...made('{}'), ...request }, secrets);
    const basic = (credential: string) => ({
      headers: { authorization: `Basic ${Buffer.from(credential).toString('base64')}` },
    });

    expect(verifyOf(basic('hook:second-secret'))).toEqual({ ok: true });
    expect(verifyOf({ headers: { 'x-webhook-secret': 'first-secret' } })).toEqual({ ok: true });
    expect(verifyOf({ query: { secret: 'first-secret' } })).toEqual({ ok: true });
    expect(verifyOf({})).toMatchObject({ reason: 'missing_signature' });
    expect(verifyOf(basic('second-secret'))).toMatchObject({ status: 401 });
    expect(verifyOf(basic('second-secret:hook'))).toMatchObject({ reason: 'bad_signature' });
    expect(verifyOf({ query: { secret: ['first-secret'] } })).toMatchObject({ status: 401 });
    expect(verifyOf({ query: { secret: '' } })).toMatchObject({ reason: 'bad_signature' });
  },
);

test('a Jira hook without a signature needs the shared secret, and a bad signature is not saved by it', () => {
  const { adapter } = sourceOf('jira');
  const body = fixture('jira.issue_created.json');
  const unsigned = { ...made(body), query: { secret: 'a-test-secret' } };

  expect(adapter.verify(unsigned, ['a-test-secret'])).toEqual({ ok: true });
  expect(adapter.verify({ ...unsigned, query: {} }, ['a-test-secret'])).toMatchObject({
    status: 401,
  });
  const wrong = { ...unsigned, headers: { 'x-hub-signature': 'sha256=00' } };
  expect(adapter.verify(wrong, ['a-test-secret'])).toMatchObject({ status: 401 });
});

test('a proof that comes twice is none', () => {
  const { request, source } = delivery('zammad.article.customer.json');
  const signature = String(request.headers['x-hub-signature']);
  const headers = { ...request.headers, 'x-hub-signature': [signature, signature] };

  expect(source.adapter.verify({ ...request, headers }, source.secrets)).toMatchObject({
    status: 401,
  });
});
