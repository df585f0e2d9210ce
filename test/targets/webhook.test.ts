import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OutgoingMessage } from '../../src/contracts/index.ts';
import { webhookTarget } from '../../src/targets/index.ts';

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const OLD_SECRET = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;

const message: OutgoingMessage = {
  source: 'shop',
  externalId: 'case 1/ä',
  kind: 'reply',
  text: 'It left on Friday.',
  reference: 'xreference-1',
};
const soon = () => Date.now() + 2_000;

type Received = { headers: Record<string, string>; body: string };

/** A receiver that keeps what came, and answers as it is told. */
async function startReceiver(
  answer: (response: ServerResponse, request: IncomingMessage) => void = (response) =>
    void response.writeHead(204).end(),
) {
  const received: Received[] = [];
  const connections = { count: 0 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      received.push({ headers: request.headers as Record<string, string>, body });
      answer(response, request);
    });
  });
  server.on('connection', () => (connections.count += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { received, connections, port, url: `http://127.0.0.1:${port}/hook` };
}

/** A name server that gives each next answer in turn, the last one for ever. */
function nameServer(...answers: string[][]): { lookup: LookupFunction; asked: () => number } {
  let asked = 0;
  const lookup: LookupFunction = (_hostname, _options, callback) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { lookup, asked: () => asked };
}

describe('a signed webhook', () => {
  test('carries the message, and each live secret verifies it', async () => {
    const { url, received } = await startReceiver();
    const target = webhookTarget({ url, secrets: [SECRET, OLD_SECRET], development: true });

    const sent = await target.send(message, soon());

    expect(sent).toEqual({ kind: 'sent', targetId: 'xreference-1' });
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    for (const secret of [SECRET, OLD_SECRET]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual({
        type: 'turnkeeper.reply',
        data: {
          source: 'shop',
          conversationId: 'case 1/ä',
          kind: 'reply',
          text: 'It left on Friday.',
          reference: 'xreference-1',
        },
      });
    }
    expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow();
  });

  test('has the same id and body at every try, by which the receiver knows a repeat', async () => {
    const { url, received } = await startReceiver((response) => response.writeHead(500).end());
    const target = webhookTarget({ url, secrets: [SECRET], development: true });

    await target.send(message, soon());
    expect(await target.find(message)).toEqual({ kind: 'absent' });
    await target.send(message, soon());

    const ids = received.map(({ headers, body }) => [headers['webhook-id'], body]);
    expect(ids[0]).toEqual(ids[1]);
    expect(ids[0]?.[0]).toBe('xreference-1');
  });

  test.each([
    [200, '', { kind: 'sent', targetId: 'xreference-1' }],
    [400, 'Secret words', { kind: 'refused', reason: 'http_400' }],
    [404, '', { kind: 'refused', reason: 'http_404' }],
    [409, '{"code":"human_owner"}', { kind: 'refused', reason: 'human_owner' }],
    [410, '{"code":"rm -rf /"}', { kind: 'refused', reason: 'http_410' }],
    [409, '', { kind: 'refused', reason: 'http_409' }],
    [401, '', { kind: 'not_sent', reason: 'unauthorized' }],
    [429, '', { kind: 'not_sent', reason: 'rate_limited' }],
    [500, '', { kind: 'unknown', reason: 'http_500' }],
    [503, '', { kind: 'unknown', reason: 'http_503' }],
  ])('an answer of %i %s means %o', async (status, body, meaning) => {
    const { url } = await startReceiver((response) => response.writeHead(status).end(body));
    const target = webhookTarget({ url, secrets: [SECRET], development: true });

    expect(await target.send(message, soon())).toEqual(meaning);
  });

  test('no answer, or a part of one, leaves it open whether it arrived', async () => {
    const cut = await startReceiver((response) => response.destroy());
    const half = await startReceiver((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const silent = await startReceiver(() => {});

    for (const { url } of [cut, half, silent]) {
      const target = webhookTarget({ url, secrets: [SECRET], development: true });
      expect((await target.send(message, Date.now() + 300)).kind).toBe('unknown');
    }
  });

  test('after the deadline nothing is sent', async () => {
    const { url, connections } = await startReceiver();
    const target = webhookTarget({ url, secrets: [SECRET], development: true });

    expect(await target.send(message, Date.now())).toEqual({
      kind: 'not_sent',
      reason: 'deadline_passed',
    });
    expect(connections.count).toBe(0);
  });

  test.each([
    ['plain http', { url: 'http://hooks.example.com', secrets: [SECRET] }],
    ['another scheme', { url: 'file:///etc/passwd', secrets: [SECRET], development: true }],
    ['no secret', { url: 'https://hooks.example.com', secrets: [] }],
    ['a secret that is none', { url: 'https://hooks.example.com', secrets: ['hunter2!'] }],
  ])('%s is refused when the target is made, without telling the secret', (_, options) => {
    expect(() => webhookTarget(options)).toThrow(/^(url|secrets)/);
    expect(() => webhookTarget(options)).not.toThrow(/hunter2/);
  });
});

describe('a webhook goes to public addresses only', () => {
  const blocked = { kind: 'refused', reason: 'address_not_allowed' };

  test.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0'],
    ...['100.100.100.200', '168.63.129.16', '2130706433', '0x7f.1', '017700000001'],
    ...['[::1]', '[fd00::1]', '[fe80::1]', '[::ffff:10.0.0.1]', '[::ffff:7f00:1]', '[::]'],
    ...['[64:ff9b::a00:1]', '[2002:a00:1::]', '[fd00:ec2::254]'],
  ])('not to https://%s', async (host) => {
    const target = webhookTarget({ url: `https://${host}/hook`, secrets: [SECRET] });

    expect(await target.send(message, soon())).toEqual(blocked);
  });

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:10.0.0.1']],
    [['fd00::1']],
    [['169.254.169.254']],
    [['8.8.8.8', '10.0.0.1']],
    [[]],
  ])('not to a name that stands for %j', async (addresses) => {
    const { connections, port } = await startReceiver();
    const { lookup } = nameServer(addresses);
    const url = `https://hooks.example.com:${port}/`;

    expect(await webhookTarget({ url, secrets: [SECRET], lookup }).send(message, soon())).toEqual(
      blocked,
    );
    expect(connections.count).toBe(0);
  });

  test('the address that was checked is the one that is used: a name that changes its answer is asked once a call', async () => {
    const { received, connections, port } = await startReceiver();
    const { lookup, asked } = nameServer(['127.0.0.1'], ['169.254.169.254']);
    const url = `http://hooks.example.com:${port}/`;
    const target = webhookTarget({ url, secrets: [SECRET], lookup, development: true });

    expect((await target.send(message, soon())).kind).toBe('sent');
    expect([asked(), received.length]).toEqual([1, 1]);
    expect(await target.send(message, soon())).toEqual(blocked);
    expect([asked(), connections.count]).toEqual([2, 1]);
  });

  test('a redirect is not followed', async () => {
    const inner = await startReceiver();
    const outer = await startReceiver((response) =>
      response.writeHead(307, { location: inner.url }).end(),
    );
    const target = webhookTarget({ url: outer.url, secrets: [SECRET], development: true });

    expect(await target.send(message, soon())).toEqual({ kind: 'refused', reason: 'redirected' });
    expect(inner.connections.count).toBe(0);
  });

  test('in development this machine will do, its metadata service never', async () => {
    const target = webhookTarget({
      url: 'http://169.254.169.254/latest/meta-data',
      secrets: [SECRET],
      development: true,
    });

    expect(await target.send(message, soon())).toEqual(blocked);
  });

  test('a name that cannot be found, or a door that is shut, means not sent', async () => {
    const lookup: LookupFunction = (_hostname, _options, callback) => {
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    };
    const nowhere = webhookTarget({ url: 'https://nowhere.example', secrets: [SECRET], lookup });
    const { port } = await startReceiver();
    const shut = webhookTarget({
      // The receiver speaks no TLS, so no secure connection ever stands.
      url: `https://127.0.0.1:${port}`,
      secrets: [SECRET],
      development: true,
    });

    for (const target of [nowhere, shut]) {
      expect(await target.send(message, soon())).toEqual({
        kind: 'not_sent',
        reason: 'unreachable',
      });
    }
  });
});
