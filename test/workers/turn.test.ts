import { describe, expect, test } from 'vitest';
import type { ProposalInput } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

const reply = (text: string): ProposalInput => ({ kind: 'finish_candidate', reply: text });
const call = (tool: string, args: object): ProposalInput => ({
  kind: 'tool_calls',
  calls: [{ id: 'c1', tool, arguments: args }],
});

describe('a message becomes one turn', () => {
  test('[P1] its reply goes out and the turn is on record with its reason', async () => {
    const rig = await startRig({
      model: scriptedModel((view) => reply(`You said ${view.messages[0]?.text}`)),
    });
    await rig.startHost();

    await rig.accept(ticket({ text: 'Hi' }));
    await rig.target.arrived('reply', 1);

    expect(rig.target.of('reply')).toEqual(['You said Hi']);
    expect(await rig.records.turnsOf('test/c1')).toMatchObject([
      { phase: 'ended', outcome: 'completed', reason: 'replied', messages: [{ text: 'Hi' }] },
    ]);
  });

  test('[P2] [S3-13] a message that arrives while a turn runs is answered after it, in order, by one worker at a time however often it is woken', async () => {
    const { promise: firstIsRunning, resolve: running } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const rig = await startRig({
      model: scriptedModel(async (view) => {
        const text = view.messages[0]?.text ?? '';
        seen.push(`start ${text}`);
        if (text === 'one') {
          running();
          await goOn;
        }
        seen.push(`end ${text}`);
        return reply(text);
      }),
    });
    await rig.startHost();
    await rig.startHost();

    await rig.accept(ticket({ text: 'one' }));
    await firstIsRunning;
    await rig.accept(ticket({ text: 'two' }));
    await rig.accept(ticket({ text: 'three' }));
    // As the reconciler does where it is not sure.
    await rig.queues.poke('turns', 'test/c1');
    // Both workers have slots, and take what came after those.
    await rig.accept(ticket({ conversationId: 'c2', text: 'other' }));
    await rig.target.arrived('reply', 1);
    const meanwhile = seen.splice(0);
    release();
    await rig.target.arrived('reply', 4);

    expect(meanwhile).toEqual(['start one', 'start other', 'end other']);
    expect(seen).toEqual(['end one', 'start two', 'end two', 'start three', 'end three']);
    expect(rig.target.of('reply', 'c1')).toEqual(['one', 'two', 'three']);
  });

  test('[P1] a message that arrives between the last commit and the end of its job is not left behind', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: committed, resolve: isCommitted } = Promise.withResolvers<void>();
    const rig = await startRig({
      model: scriptedModel((view) => reply(view.messages[0]?.text ?? '')),
      host: { reconcileEveryMs: 3_600_000, onTrace: () => isCommitted() },
    });
    // The job of the first message cannot end before the second one is in: its own wake-up of the deliveries hangs.
    rig.queues.poke = new Proxy(rig.queues.poke, {
      apply: async (poke, self, args: Parameters<typeof rig.queues.poke>) => {
        if (args[0] === 'deliveries') await gate;
        return Reflect.apply(poke, self, args);
      },
    });
    await rig.startHost();

    await rig.accept(ticket({ text: 'one' }));
    await committed;
    await rig.accept(ticket({ text: 'two' }));
    open();
    await rig.target.arrived('reply', 2);

    expect(rig.target.of('reply')).toEqual(['one', 'two']);
  });

  test('[P3] after ten messages a chatty conversation gives its slot to the next one', async () => {
    const order: string[] = [];
    const rig = await startRig({
      model: scriptedModel((view) => {
        order.push(view.messages[0]?.text ?? '');
        return reply('ok');
      }),
      host: { concurrency: 1, messagesPerWakeUp: 3 },
    });
    for (let index = 0; index < 7; index += 1)
      await rig.accept(ticket({ text: `chatty ${index}` }));
    await rig.accept(ticket({ conversationId: 'c2', text: 'quiet' }));

    await rig.startHost();
    await rig.target.arrived('reply', 8);

    expect(order.indexOf('quiet')).toBe(3);
    expect(order.filter((text) => text !== 'quiet')).toEqual(
      Array.from({ length: 7 }, (_, index) => `chatty ${index}`),
    );
  });

  test('[P10] a completed turn enters the history whole; another one leaves a generated line', async () => {
    const views: View[] = [];
    const rig = await startRig({
      model: scriptedModel((view) => {
        views.push(view);
        return view.messages[0]?.text === 'bad'
          ? { kind: 'fails', failure: { kind: 'max_tokens' } }
          : reply(`re: ${view.messages[0]?.text}`);
      }),
    });
    await rig.startHost();

    await rig.accept(ticket({ text: 'good' }));
    await rig.target.arrived('reply', 1);
    await rig.accept(ticket({ text: 'bad' }));
    await rig.target.arrived('note', 1);
    // A turn that handed over leaves the conversation with people.
    expect((await rig.records.turnsOf('test/c1'))[0]).toMatchObject({ reason: 'max_tokens' });
    await rig.redis.hset(`${rig.store.tagOf('test/c1')}:conv:test/c1`, 'owner', 'agent');
    await rig.accept(ticket({ text: 'next' }));
    await rig.target.arrived('reply', 2);

    expect(views[2]?.history).toMatchObject([
      { kind: 'turn', customer: ['good'], reply: 're: good' },
      { kind: 'line', line: expect.stringMatching(/"bad": failed \(max_tokens\); no effects/) },
    ]);
  });

  test('a conversation that was handed over is answered by people: no model call, one note', async () => {
    let asked = 0;
    const rig = await startRig({
      model: scriptedModel(() => {
        asked += 1;
        return { kind: 'escalate', rationale: 'needs a person' };
      }),
    });
    await rig.startHost();

    await rig.accept(ticket({ text: 'first' }));
    await rig.target.arrived('note', 1);
    await rig.accept(ticket({ text: 'second' }));
    await rig.target.arrived('note', 2);

    expect(asked).toBe(1);
    expect(rig.target.of('handover')).toHaveLength(1);
    expect(rig.target.of('reply')).toEqual([]);
    expect((await rig.records.turnsOf('test/c1'))[0]).toMatchObject({ reason: 'human_takeover' });
  });
});

describe('cancel, verify, refund', () => {
  async function shopRig(prepare: (shop: Shop) => void = () => {}) {
    const shop = new Shop();
    shop.add({ id: '1' });
    prepare(shop);
    const rig = await startRig({
      model: scriptedModel(cancelThenRefund),
      tools: shopTools(shop),
      approvalLimits: { EUR: 5_000 },
    });
    await rig.startHost();
    return { shop, rig };
  }

  test('[S0-11] [S0-44] [P6] the money leaves only after a re-read has seen the cancellation', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.settleReads = 2;
    });

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    expect(shop.effects).toMatchObject([
      { kind: 'cancel', statusThen: 'paid' },
      { kind: 'refund', statusThen: 'cancelled', amount: 2_000 },
    ]);
    const rows = await rig.records.ledger('test/c1');
    expect(rows.map(({ tool, status }) => [tool, status])).toEqual([
      ['cancel_order', 'verified'],
      ['issue_refund', 'verified'],
    ]);
    const [turn] = await rig.records.turnsOf('test/c1');
    expect(turn?.events.some((event) => event.type === 'turn_parked')).toBe(true);
  });

  test('[S0-51] while the turn waits for a re-read no worker is held by it', async () => {
    const { promise: parkedNow, resolve } = Promise.withResolvers<void>();
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.settleReads = 1_000;
    const rig = await startRig({
      model: scriptedModel((view) =>
        view.messages[0]?.text === 'quick' ? reply('quick') : cancelThenRefund(view),
      ),
      tools: shopTools(shop, {
        cancel_order: {
          verify: {
            level: 'reread',
            read: () => {
              resolve();
              return Promise.resolve({});
            },
            landed: () => 'pending',
            attempts: 4,
            backoffMs: 60_000,
          },
        },
      }),
      host: { concurrency: 1 },
    });
    await rig.startHost();

    await rig.accept(ticket());
    await parkedNow;
    await rig.accept(ticket({ conversationId: 'c2', text: 'quick' }));
    await rig.target.arrived('reply', 1);

    expect(rig.target.of('reply')).toEqual(['quick']);
    expect(await rig.records.blocked()).toMatchObject([{ phase: 'awaiting_verification' }]);
  });

  test('[S0-48] a cancellation that never settles escalates and no money moves', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.settleReads = 1_000;
    });

    await rig.accept(ticket());
    await rig.target.arrived('note', 1);

    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel']);
    expect(shop.calls.filter((one) => one === 'cancel 1')).toHaveLength(1);
    const [turn] = await rig.records.turnsOf('test/c1');
    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'verification_failed' });
    const reads = turn?.events.filter((event) => event.type === 'verification_read') ?? [];
    expect(reads).toHaveLength(4);
    expect(rig.target.of('note')[0]).toMatch(/Not certain: cancel_order order:1 applied/);
  });

  test('[P4] [P5] an answer that got lost after the money left is found by a re-read, and not paid again', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.faults['refund'] = ['lost_after'];
    });

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    expect(shop.effects.filter(({ kind }) => kind === 'refund')).toHaveLength(1);
    expect(shop.calls.filter((one) => one === 'refund 1')).toHaveLength(1);
  });

  test('[P5] a call that was lost before it had any effect is made again under the same key', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.faults['refund'] = ['lost_before'];
    });

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    const refunds = shop.effects.filter(({ kind }) => kind === 'refund');
    expect(refunds).toHaveLength(1);
    expect((await rig.records.operation(refunds[0]?.operation ?? ''))?.attempts).toBe(2);
  });

  test('[S0-05] a success that is not true is found out', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.faults['refund'] = ['ack_only'];
    });

    await rig.accept(ticket());
    await rig.target.arrived('note', 1);

    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel']);
    expect((await rig.records.turnsOf('test/c1'))[0]).toMatchObject({
      reason: 'verification_failed',
    });
  });

  test('[S0-22] an answer outside the contract is no result: the effect is re-read', async () => {
    const { shop, rig } = await shopRig((one) => {
      one.faults['refund'] = ['garbage'];
    });

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    const [turn] = await rig.records.turnsOf('test/c1');
    const said = turn?.events.filter((event) => event.type === 'call_settled').at(-1);
    expect(said).toMatchObject({ result: { kind: 'unknown', code: 'invalid_output' } });
    expect(shop.effects.filter(({ kind }) => kind === 'refund')).toHaveLength(1);
  });

  test('[S1-05] [S1-06] a read that fails becomes a message in our words, and the turn goes on', async () => {
    const views: View[] = [];
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.faults['get'] = ['unavailable'];
    const rig = await startRig({
      model: scriptedModel((view) => {
        views.push(view);
        return view.rounds.length === 0
          ? call('get_order', { orderId: '1' })
          : reply('Later, sorry.');
      }),
      tools: shopTools(shop),
    });
    await rig.startHost();

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    expect(views[1]?.rounds[0]?.results[0]?.result).toEqual({
      kind: 'failed',
      code: 'down',
      message: 'get_order is unavailable (down).',
      transient: true,
    });
  });

  test("somebody else's order is read but not shown", async () => {
    const views: View[] = [];
    const shop = new Shop();
    shop.add({ id: '1', owner: 'bob@example.com' });
    const rig = await startRig({
      model: scriptedModel((view) => {
        views.push(view);
        return view.rounds.length === 0 ? call('get_order', { orderId: '1' }) : reply('Not yours.');
      }),
      tools: shopTools(shop),
    });
    await rig.startHost();

    await rig.accept(ticket());
    await rig.target.arrived('reply', 1);

    expect(views[1]?.rounds[0]?.results[0]?.result).toMatchObject({
      kind: 'rejected',
      code: 'not_yours',
    });
    expect(JSON.stringify(views[1])).not.toContain('bob@example.com');
  });
});
