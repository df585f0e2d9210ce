import { expect, test } from 'vitest';
import { liveText } from '../../src/workers/live-text.ts';
import { TurnFeed } from '../../src/store/turn-feed.ts';
import { pieces } from '../support/model-server/behaviour.ts';
import { endpoint, modelAt, openModelShop } from './models-stage.ts';

const REPLY = `Hello, I write to eve@example.com that nothing was cancelled.${' Really.'.repeat(12)}`;

test.each(['chat', 'responses', 'messages'] as const)(
  'whoever follows a turn sees what its model writes before it has written all of it, masked, and it is on no record (%s)',
  async (api) => {
    const server = await endpoint(() => ({ do: 'answer', text: REPLY, paceMs: 40 }));
    const shop = await openModelShop(modelAt(server, api));
    const feed = new TurnFeed(shop.store);
    await shop.write('c1');
    const turnId = await openTurnOf(shop);
    const seen: string[] = [];
    const texts: string[] = [];

    for await (const event of feed.follow(turnId, new AbortController().signal)) {
      seen.push(event.type);
      if (event.type === 'model_writing') texts.push(event.text);
    }
    feed.close();

    expect(texts.length).toBeGreaterThan(1);
    expect(seen.lastIndexOf('model_writing')).toBeLessThan(seen.indexOf('model_responded'));
    expect(texts.at(-1)).toMatch(/^Hello, I write to \S+ that nothing was cancelled\. Really/);
    expect(texts.join('\n')).not.toMatch(/eve|exam/);
    const [turn] = await shop.records.turnsOf('test/c1');
    expect(JSON.stringify(turn?.events)).not.toContain('model_writing');
  },
);

/** The turn of the conversation, as soon as it is open. */
async function openTurnOf({ records }: Awaited<ReturnType<typeof openModelShop>>): Promise<string> {
  for (;;) {
    const [turn] = await records.turnsOf('test/c1');
    if (turn !== undefined) return turn.turnId;
  }
}

test('an answer that comes at once is told to nobody', () => {
  const told: string[] = [];
  const piece = liveText((text) => told.push(text));

  for (const part of pieces(REPLY)) piece(part);

  expect(told).toEqual([]);
});
