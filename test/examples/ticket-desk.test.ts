import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { launchService } from '../../examples/technova/service/launch.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import { startTicketDesk } from '../../examples/technova/ticket-desk/start.ts';
import type { RunningService } from '../../examples/technova/service/service-process.ts';

const MAIN = fileURLToPath(new URL('../../examples/technova/ticket-desk/main.ts', import.meta.url));

let service: RunningService;
let desk: ServiceClient;

beforeEach(async () => {
  service = await startTicketDesk({ seed: { conversations: [{ id: 'c-1' }] } });
  desk = new ServiceClient(service.url);
});
afterEach(() => service.close());

function reply(text: string, reference: string | null = null, signal?: AbortSignal) {
  return desk.post(
    '/conversations/c-1/replies',
    { text, reference },
    signal === undefined ? {} : { signal },
  );
}

async function messages(): Promise<unknown> {
  return ((await desk.get('/conversations/c-1')).body as { messages: unknown }).messages;
}

async function script(...faults: object[]): Promise<void> {
  expect((await desk.post('/admin/faults', { faults })).status).toBe(200);
}

async function arrange(conversation: object): Promise<void> {
  expect(
    (await desk.post('/admin/conversations', { conversations: [{ id: 'c-1', ...conversation }] }))
      .status,
  ).toBe(200);
}

describe('writing', () => {
  it('replies, notes and status changes are read back in the order they were written, each with its reference', async () => {
    expect(await reply('Your order is cancelled.', 'turn-1')).toMatchObject({
      status: 201,
      body: { message: { id: 'msg-1' } },
    });
    expect(await desk.post('/conversations/c-1/notes', { text: 'Refund paid.' })).toMatchObject({
      status: 201,
    });
    expect(
      await desk.put('/conversations/c-1/status', { status: 'closed', reference: 'turn-1' }),
    ).toMatchObject({ status: 200 });

    expect((await desk.get('/conversations/c-1')).body).toMatchObject({
      status: 'closed',
      owner: 'agent',
    });
    expect(await messages()).toMatchObject([
      { id: 'msg-1', kind: 'reply', text: 'Your order is cancelled.', reference: 'turn-1' },
      { id: 'msg-2', kind: 'note', text: 'Refund paid.', reference: null },
      { id: 'msg-3', kind: 'status', text: 'closed', reference: 'turn-1' },
    ]);
  });

  it('the same reply posted twice is two messages, whatever its reference and its key say', async () => {
    const twice = { text: 'Hello.', reference: 'turn-1' };
    await desk.post('/conversations/c-1/replies', twice, { key: 'delivery-1' });
    await desk.post('/conversations/c-1/replies', twice, { key: 'delivery-1' });

    expect(await messages()).toMatchObject([twice, twice]);
  });

  it('the log holds every write in order, with who owned the conversation at that moment', async () => {
    await reply('One.', 'turn-1');
    await arrange({ owner: 'human' });
    await reply('Two.', 'turn-2');

    expect(await desk.log({ kind: 'effect' })).toMatchObject([
      { operation: 'reply', text: 'One.', reference: 'turn-1', ownerAtThatMoment: 'agent' },
      { operation: 'reply', text: 'Two.', reference: 'turn-2', ownerAtThatMoment: 'human' },
    ]);
  });

  it('a public message of a human makes the human the owner', async () => {
    await desk.post('/admin/conversations/c-1/human-reply', { text: 'I take over.' });

    expect((await desk.get('/conversations/c-1')).body).toMatchObject({ owner: 'human' });
    expect(await messages()).toMatchObject([
      { kind: 'reply', author: 'human', text: 'I take over.' },
    ]);
  });

  it('an empty or misspelt message is refused with the field and the fix', async () => {
    const { status, body } = await desk.post('/conversations/c-1/notes', { txt: 'hello' });

    expect(status).toBe(422);
    expect(JSON.stringify(body)).toMatch(/text is missing.*remove the unknown field txt/);
    expect(await messages()).toEqual([]);
  });
});

describe('states of a conversation', () => {
  it('a merged conversation takes no message and names the one it went into', async () => {
    await arrange({ status: 'merged', mergedInto: 'c-2' });

    const { status, body } = await reply('Hello.');

    expect(status).toBe(409);
    expect(body).toMatchObject({
      error: { code: 'conversation_merged', message: expect.stringContaining('c-2') as string },
    });
    expect(await messages()).toEqual([]);
  });

  it('a closed conversation takes a reply and stays closed, or refuses it where the desk is set so; notes always pass', async () => {
    await arrange({ status: 'closed' });
    expect(await reply('One more thing.')).toMatchObject({ status: 201 });

    await desk.post('/admin/settings', { closedConversation: 'refuse' });

    expect(await reply('And another.')).toMatchObject({
      status: 409,
      body: { error: { code: 'conversation_closed' } },
    });
    expect(await desk.post('/conversations/c-1/notes', { text: 'Noted.' })).toMatchObject({
      status: 201,
    });
    expect((await desk.get('/conversations/c-1')).body).toMatchObject({ status: 'closed' });
  });

  it('an unknown conversation is opened by the first message, or refused where the desk is set so', async () => {
    expect(await desk.get('/conversations/new')).toMatchObject({
      status: 200,
      body: { id: 'new', messages: [] },
    });
    expect(await desk.post('/conversations/new/replies', { text: 'Hello.' })).toMatchObject({
      status: 201,
    });

    await desk.post('/admin/settings', { unknownConversation: 'refuse' });

    const refusal = { status: 404, body: { error: { code: 'conversation_not_found' } } };
    expect(await desk.post('/conversations/other/replies', { text: 'Hello.' })).toMatchObject(
      refusal,
    );
    expect(await desk.get('/conversations/other')).toMatchObject(refusal);
    expect(await desk.get('/conversations/new')).toMatchObject({ status: 200 });
  });
});

describe('faults', () => {
  it.each([
    ['latency', 201, 1],
    ['pause_after', 201, 1],
    ['fail_before', 503, 0],
    ['fail_after', 503, 1],
    ['ack_only', 201, 0],
  ])('%s answers %i and leaves %i messages', async (kind, status, count) => {
    await script({ operation: 'reply', conversationId: 'c-1', kind, ms: 1 });

    expect(await reply('Hello.')).toMatchObject({ status });

    expect(await messages()).toHaveLength(count);
  });

  it.each([
    ['drop_before', 0],
    ['drop_after', 1],
  ])(
    '%s gives no answer and leaves %i messages, which a re-read finds by its reference',
    async (kind, count) => {
      await script({ operation: 'reply', kind });

      await expect(reply('Hello.', 'turn-1')).rejects.toThrow('fetch failed');

      expect(await messages()).toMatchObject(
        Array.from({ length: count }, () => ({ reference: 'turn-1' })),
      );
    },
  );

  it.each([
    ['hang_before', 'fault:reply:c-1', 0],
    ['hang_after', 'applied:reply:c-1', 1],
  ])('%s never answers', async (kind, event, count) => {
    await script({ operation: 'reply', kind });
    const caller = new AbortController();

    const answer = reply('Hello.', 'turn-1', caller.signal);
    await desk.waitFor(event);
    caller.abort();

    await expect(answer).rejects.toThrow('aborted');
    expect(await messages()).toHaveLength(count);
  });

  it('faults are counted apart for replies, notes, status changes and reads', async () => {
    await script(
      { operation: 'note', kind: 'fail_before' },
      { operation: 'get', nth: 2, kind: 'fail_before' },
    );

    expect(await reply('Hello.')).toMatchObject({ status: 201 });
    expect(await desk.post('/conversations/c-1/notes', { text: 'Noted.' })).toMatchObject({
      status: 503,
    });
    expect(await desk.put('/conversations/c-1/status', { status: 'closed' })).toMatchObject({
      status: 200,
    });
    expect(await desk.get('/conversations/c-1')).toMatchObject({ status: 200 });
    expect(await desk.get('/conversations/c-1')).toMatchObject({ status: 503 });
  });
});

describe('the process', () => {
  it('messages, owners and the log survive SIGKILL, and SIGTERM ends the process with code 0', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ticket-desk-'));
    const environment = { DATA_FILE: join(folder, 'desk.sqlite'), PORT: '0' };
    const killed = await launchService(MAIN, environment);
    const before = new ServiceClient(killed.url);
    await before.post('/admin/conversations', { conversations: [{ id: 'c-1', owner: 'human' }] });
    await before.post('/conversations/c-1/replies', { text: 'Hello.', reference: 'turn-1' });
    await killed.stop('SIGKILL');

    const restarted = await launchService(MAIN, environment);
    const after = new ServiceClient(restarted.url);

    expect((await after.get('/conversations/c-1')).body).toMatchObject({
      owner: 'human',
      messages: [{ reference: 'turn-1' }],
    });
    expect(await after.log({ kind: 'effect' })).toHaveLength(1);
    expect(await restarted.stop('SIGTERM')).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it('a port in use and a bad seed end the start with one line each', async () => {
    await expect(
      launchService(MAIN, { PORT: new URL(service.url).port, DATA_FILE: ':memory:' }),
    ).rejects.toThrow(/^ticket-desk: Port \d+ on 127\.0\.0\.1 is already in use\. .*$/);
    await expect(
      startTicketDesk({ seed: { conversations: [{ id: 'c-1', owner: 'robot' }] } }),
    ).rejects.toThrow('the seed: conversations[0].owner is "robot": use one of agent, human');
  });
});
