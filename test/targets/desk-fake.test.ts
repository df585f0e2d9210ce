import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  DESK_KINDS,
  startDeskFake,
  type DeskFake,
  type DeskKind,
} from '../support/desks/desk-fake.ts';
import type { HookOptions } from '../support/desks/hooks.ts';

type Received = { headers: IncomingHttpHeaders; text: string };

/** Takes events; `statuses` are its answers in order, then 200. */
async function startIngress(statuses: number[] = [], headers: Record<string, string> = {}) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    request.on('end', () => {
      received.push({ headers: request.headers, text });
      response.writeHead(statuses.shift() ?? 200, headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

async function openDesk(kind: DeskKind, hooks: HookOptions) {
  const desk = await startDeskFake(kind, { hooks });
  onTestFinished(() => desk.close());
  return desk;
}

function hmac(algorithm: string, desk: DeskFake, signed: string, encoding: 'hex' | 'base64') {
  return createHmac(algorithm, desk.secret).update(signed).digest(encoding);
}

/** How each of them signs, worked out here on its own. */
const SIGNED: Record<DeskKind, (desk: DeskFake, event: Received) => [unknown, string]> = {
  zendesk: (desk, { headers, text }) => [
    headers['x-zendesk-webhook-signature'],
    hmac(
      'sha256',
      desk,
      `${String(headers['x-zendesk-webhook-signature-timestamp'])}${text}`,
      'base64',
    ),
  ],
  zammad: (desk, { headers, text }) => [
    headers['x-hub-signature'],
    `sha1=${hmac('sha1', desk, text, 'hex')}`,
  ],
  chatwoot: (desk, { headers, text }) => [
    headers['x-chatwoot-signature'],
    `sha256=${hmac('sha256', desk, `${String(headers['x-chatwoot-timestamp'])}.${text}`, 'hex')}`,
  ],
  intercom: (desk, { headers, text }) => [
    headers['x-hub-signature'],
    `sha1=${hmac('sha1', desk, text, 'hex')}`,
  ],
};

/** Where each puts the ticket, the message, its text and whether it is for the customer. */
const SHAPES: Record<DeskKind, (ids: { ticket: string; message: string; text: string }) => object> =
  {
    zendesk: ({ ticket, message, text }) => ({
      type: 'zen:event-type:ticket.comment_added',
      detail: { id: ticket },
      event: { comment: { id: message, body: expect.stringContaining(text), is_public: true } },
    }),
    zammad: ({ ticket, message, text }) => ({
      ticket: { id: Number(ticket) },
      article: { id: Number(message), body: text, internal: false },
    }),
    chatwoot: ({ ticket, message, text }) => ({
      event: 'message_created',
      id: Number(message),
      content: text,
      private: false,
      conversation: { id: Number(ticket) },
    }),
    intercom: ({ ticket, message, text }) => ({
      type: 'notification_event',
      data: {
        item: {
          id: ticket,
          conversation_parts: {
            conversation_parts: [{ id: message, body: expect.stringContaining(text) }],
          },
        },
      },
    }),
  };

const AUTHOR: Record<DeskKind, { customer: object; us: object; human: object }> = {
  zendesk: {
    customer: { event: { comment: { author: { is_staff: false } } } },
    us: { event: { comment: { author: { is_staff: true, id: '8447388090494' } } } },
    human: { event: { comment: { author: { is_staff: true, id: '8447388090777' } } } },
  },
  zammad: {
    customer: { article: { sender: 'Customer' } },
    us: { article: { sender: 'Agent', created_by_id: 5 } },
    human: { article: { sender: 'Agent', created_by_id: 6 } },
  },
  chatwoot: {
    customer: { message_type: 'incoming' },
    us: { message_type: 'outgoing', sender: { type: 'agent_bot', id: 9 } },
    human: { message_type: 'outgoing', sender: { type: 'user', id: 2 } },
  },
  intercom: {
    customer: { topic: 'conversation.user.replied' },
    us: { topic: 'conversation.admin.replied' },
    human: { topic: 'conversation.admin.replied' },
  },
};

describe.each(DESK_KINDS)('the events of a fake %s', (kind) => {
  test('the customer, a person and we ourselves each bring a signed one that says who it was', async () => {
    const { received, url } = await startIngress();
    const desk = await openDesk(kind, { url });
    const ticket = desk.openTicket();

    const asked = desk.say(ticket, 'Where is it?');
    await desk.hooks.settled();
    const sent = await desk
      .target()
      .send(
        { source: kind, externalId: ticket, kind: 'reply', text: 'On its way.', reference: 'x1' },
        Date.now() + 2_000,
      );
    await desk.hooks.settled();
    const taken = desk.sayAsHuman(ticket, 'I have it.');
    await desk.hooks.settled();

    for (const event of received) {
      const [given, computed] = SIGNED[kind](desk, event);
      expect(given).toBe(computed);
    }
    const bodies = received.map(({ text }) => JSON.parse(text) as object);
    const ours = sent.kind === 'sent' ? sent.targetId : '';
    const of = (message: string, text: string, who: 'customer' | 'us' | 'human') => {
      const found = bodies.filter((body) => {
        const shape = SHAPES[kind]({ ticket, message, text });
        return matches(body, shape);
      });
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject(AUTHOR[kind][who]);
    };
    of(asked, 'Where is it?', 'customer');
    of(ours, 'On its way.', 'us');
    of(taken, 'I have it.', 'human');
  });

  test('some come twice and overtake each other, with the same message in them', async () => {
    const { received, url } = await startIngress();
    const desk = await openDesk(kind, { url, duplicates: 0.5, reorderMs: 40, seed: 7 });
    const ticket = desk.openTicket();

    const said = Array.from({ length: 40 }, (_, index) => desk.say(ticket, `Number ${index}.`));
    await desk.hooks.settled();

    const order = received.map(({ text }) => [...text.matchAll(/Number (\d+)\./g)].at(-1)?.[1]);
    expect(new Set(order).size).toBe(said.length);
    expect(order.length).toBeGreaterThan(50);
    expect(order).not.toEqual(order.toSorted((a, b) => Number(a) - Number(b)));
  });
});

function matches(body: object, shape: object): boolean {
  try {
    expect(body).toMatchObject(shape);
    return true;
  } catch {
    return false;
  }
}

describe('an event that is not taken', () => {
  test.each([
    ['zendesk', 503, {}, 1],
    ['zendesk', 503, { 'retry-after': '30' }, 5],
    ['zendesk', 409, {}, 3],
    ['zammad', 500, {}, 5],
    ['zammad', 401, {}, 5],
    ['chatwoot', 503, {}, 1],
    ['intercom', 500, {}, 2],
  ] as const)(
    '%s sends one that was answered %i %o %i times in all, then gives up',
    async (kind, status, headers, tries) => {
      const { received, url } = await startIngress(Array<number>(9).fill(status), headers);
      const desk = await openDesk(kind, { url });

      desk.say(desk.openTicket(), 'Hello?');
      await desk.hooks.settled();

      expect(received).toHaveLength(tries);
      expect(new Set(received.map(({ text }) => text)).size).toBe(1);
      expect(desk.hooks.lost).toBe(1);
    },
  );

  test('can be sent again from the desk, wherever the ingress is by then', async () => {
    const desk = await openDesk('chatwoot', { url: 'http://127.0.0.1:9/' });
    desk.say(desk.openTicket(), 'Hello?');
    await desk.hooks.settled();
    expect(desk.hooks.lost).toBe(1);

    const { received, url } = await startIngress();
    desk.hooks.options.url = url;
    desk.hooks.redeliverLost();
    await desk.hooks.settled();

    expect(received).toHaveLength(1);
    expect(desk.hooks.lost).toBe(0);
  });
});
