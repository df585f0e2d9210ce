import { expect, test } from 'vitest';
import { MAX_TEXT_LENGTH, ticketMessageSchema } from '../../src/contracts/index.ts';
import { ticket } from '../support/rig.ts';
import { committing, ended, opened, openStore, transition } from '../support/store.ts';

test('[P1] a message is in the mailbox once, however often and under whatever delivery id it arrives', async () => {
  const { store, claim } = await openStore();
  const message = ticket({ messageId: 'm1', deliveryId: 'd1' });

  const answers = await Promise.all([
    store.acceptMessage(message),
    store.acceptMessage(message),
    store.acceptMessage({ ...message, deliveryId: 'd2' }),
    store.acceptMessage(ticket({ messageId: 'm1' })),
  ]);

  expect(answers.map(({ kind }) => kind).toSorted()).toEqual([
    'accepted',
    'known',
    'known',
    'known',
  ]);
  const turn = await claim();
  expect(turn.messages).toHaveLength(1);
  expect(
    await store.commit(turn.claim, transition(0, opened, ended), committing(turn.claim)),
  ).toMatchObject({ waiting: 0 });
});

test('a hand-over that was taken is known, also if its message comes under another id', async () => {
  const { store, claim } = await openStore();
  await store.acceptMessage(ticket({ messageId: 'hash-of-body-1', deliveryId: 'd1' }));

  const again = await store.acceptMessage(
    ticket({ messageId: 'hash-of-body-2', deliveryId: 'd1' }),
  );

  expect(again.kind).toBe('known');
  expect((await claim()).messages).toHaveLength(1);
});

test('a late twin of an answered message is told which turn answered it', async () => {
  const { store, claim } = await openStore();
  const message = ticket({ messageId: 'm1' });
  await store.acceptMessage(message);
  const turn = await claim();
  await store.commit(turn.claim, transition(0, opened, ended), committing(turn.claim));

  const again = await store.acceptMessage(message);

  expect(again).toMatchObject({ kind: 'known', turnId: turn.claim.turnId });
});

test('[P2] messages are answered in the order of acceptance', async () => {
  const { store, claim } = await openStore();
  for (const text of ['one', 'two', 'three']) await store.acceptMessage(ticket({ text }));

  const seen: string[] = [];
  for (let count = 3; count > 0; count -= 1) {
    const turn = await claim();
    seen.push(turn.messages[0]?.text ?? '');
    const committed = await store.commit(
      turn.claim,
      transition(0, opened, ended),
      committing(turn.claim),
    );
    expect(committed).toMatchObject({ waiting: count - 1 });
  }

  expect(seen).toEqual(['one', 'two', 'three']);
});

test('the same message id in two conversations is two messages', async () => {
  const { store } = await openStore();

  const first = await store.acceptMessage(ticket({ conversationId: 'a', messageId: '1' }));
  const second = await store.acceptMessage(ticket({ conversationId: 'b', messageId: '1' }));

  expect([first.kind, second.kind]).toEqual(['accepted', 'accepted']);
});

test.each([
  '35436',
  'zendesk:35436:m1',
  'cnv_55c8',
  '<abc@mail.example>',
  '🙂',
  'x'.repeat(300),
  'SUP 123',
])('any conversation id of a source works: %s', async (conversationId) => {
  const { store, claim } = await openStore();

  const accepted = await store.acceptMessage(ticket({ conversationId }));
  const turn = await claim(accepted.conversationId);

  expect(turn.messages[0]?.text).toBe('Hello');
  expect(accepted.conversationId).toMatch(/^test\/[\w.-]{1,64}$/);
});

test('text survives byte for byte: emoji, NUL, direction marks, a lone surrogate, quotes', async () => {
  const { store, claim } = await openStore();
  const text = '🙂 \u0000 \u200f10\u200f "quoted" \\ </script> \ud800 {{x}}';

  await store.acceptMessage(ticket({ text }));

  expect((await claim()).messages[0]?.text).toBe(text);
});

test('a text that is too long is cut and says so', () => {
  const { text } = ticketMessageSchema.parse(ticket({ text: 'x'.repeat(1_000_000) }));

  expect(text.length).toBeLessThan(MAX_TEXT_LENGTH + 100);
  expect(text).toMatch(/\[cut: 100000 of 1000000 characters kept\]$/);
});

test('claims of answered messages outlive every retry of a source, and open ones have no time-out', async () => {
  const { store, claim, redis, prefix } = await openStore();
  const { id } = await store.acceptMessage(ticket());
  const name = `{${prefix}0}:msg:${id}`;
  expect(await redis.pttl(name)).toBe(-1);

  const turn = await claim();
  await store.commit(turn.claim, transition(0, opened, ended), committing(turn.claim));

  expect(await redis.pttl(name)).toBeGreaterThan(3 * 86_400_000);
});
