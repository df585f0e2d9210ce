import { describe, expect, test } from 'vitest';
import { ticket } from '../support/rig.ts';
import { openShop, Time, type ShopOptions } from './waiting-shop.ts';

const WINDOW = 60_000;

/** An agent that answers a burst of messages at once, and counts what each turn was shown. */
async function burstShop(options: ShopOptions = {}) {
  const time = new Time();
  const stage = await openShop({
    policy: (view) => ({
      kind: 'finish_candidate',
      reply: `Read: ${view.messages.map(({ text }) => text).join(', ')}.`,
    }),
    burstMs: WINDOW,
    store: time.store,
    ...options,
  });
  /** Lets the window pass until `count` replies are out. */
  const answered = async (count: number): Promise<string[]> => {
    while (stage.target.of('reply').length < count) await time.pass(stage, WINDOW / 2);
    return stage.target.of('reply');
  };
  const textsOfTurns = async (): Promise<string[][]> =>
    (await stage.turns()).map(({ messages }) => messages.map(({ text }) => text));
  return { ...stage, time, answered, textsOfTurns };
}

describe('[P1] messages of one person that follow each other within the window', () => {
  test('are answered by one turn: one model call, one reply, and the history shows each', async () => {
    const { say, startHost, answered, textsOfTurns, redis, store, views, records } =
      await burstShop();
    await startHost();
    for (const text of ['hello', 'my order', 'is late']) await say(text);

    expect(await answered(1)).toEqual(['Read: hello, my order, is late.']);

    expect(await textsOfTurns()).toEqual([['hello', 'my order', 'is late']]);
    expect(views).toHaveLength(1);
    const tag = store.tagOf('test/c1');
    const [entry] = await redis.lrange(`${tag}:hist:test/c1`, 0, -1);
    expect(JSON.parse(entry ?? '{}')).toMatchObject({ customer: ['hello', 'my order', 'is late'] });
    expect(await records.conversation('test/c1')).toMatchObject({ waiting: 0 });
  });

  test('wait for the window to be over: before that no turn is opened', async () => {
    const { say, startHost, time, queues, records, answered, store } = await burstShop();
    await startHost();
    await say('hello');
    const turns = queues.of('turns', 'test/c1');
    while ((await turns.getJobCountByTypes('delayed')) === 0);
    await time.pass({ queues, store }, WINDOW / 2);
    while ((await turns.getJobCountByTypes('delayed')) === 0);

    expect(await records.conversation('test/c1')).toMatchObject({ openTurn: null, waiting: 1 });
    expect(await answered(1)).toEqual(['Read: hello.']);
  });

  test('later ones are answered by a turn of their own', async () => {
    const { say, startHost, time, answered, textsOfTurns } = await burstShop();
    await say('hello');
    time.offsetMs += WINDOW + 1;
    await say('my order');
    await startHost();

    expect(await answered(2)).toEqual(['Read: hello.', 'Read: my order.']);
    expect(await textsOfTurns()).toEqual([['hello'], ['my order']]);
  });

  test('a hand-over that is repeated is no further message', async () => {
    const { accept, startHost, answered } = await burstShop();
    await startHost();
    const message = ticket({ text: 'hello' });
    await Promise.all([accept(message), accept(message), accept({ ...message })]);

    expect(await answered(1)).toEqual(['Read: hello.']);
  });

  test('[P2] messages of others are not merged, and the order stays', async () => {
    const { say, startHost, answered, textsOfTurns } = await burstShop();
    await say('hello');
    await say('my order');
    await say('me too', 'bob@example.com');
    await say('is late');
    await startHost();
    await answered(3);

    expect(await textsOfTurns()).toEqual([['hello', 'my order'], ['me too'], ['is late']]);
  });

  test('[P4] more than a model can be shown go into further turns; none is lost', async () => {
    const { say, startHost, answered, textsOfTurns } = await burstShop();
    const texts = Array.from({ length: 45 }, (_, index) => `m${index}`);
    for (const text of texts) await say(text);
    await startHost();
    await answered(3);

    const turns = await textsOfTurns();
    expect(turns.map((one) => one.length)).toEqual([20, 20, 5]);
    expect(turns.flat()).toEqual(texts);
  });

  test('without a window each message has its turn', async () => {
    const { say, startHost, answered, textsOfTurns } = await burstShop({ burstMs: 0 });
    for (const text of ['hello', 'my order']) await say(text);
    await startHost();
    await answered(2);

    expect(await textsOfTurns()).toEqual([['hello'], ['my order']]);
  });
});
