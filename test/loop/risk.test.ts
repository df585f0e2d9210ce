import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ProposalInput, Stake } from '../../src/contracts/index.ts';
import { defineAgent, type AgentOptions } from '../../src/config/index.ts';
import {
  actionHash,
  formatMoney,
  versionOf,
  type Origin,
  type RiskPolicy,
  type RiskyAction,
  type View,
} from '../../src/loop/index.ts';
import { personNeeded } from '../../src/loop/risk.ts';
import { scriptedSequence } from '../../src/models/index.ts';
import { MemoryTarget } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { contract } from './contract.ts';
import { converse, play, type PlayOptions } from './play.ts';

const euros = (amount: number): Stake => ({ amount, currency: 'EUR', summary: `refund ${amount}` });

type Given = {
  stake?: RiskyAction['stake'];
  origins?: Origin[];
  external?: boolean;
  deduplicated?: boolean;
  policy?: Partial<RiskPolicy>;
};

function asks({ stake = 'never', origins = [], external, deduplicated, policy }: Given) {
  const idempotency = {
    ...{ scope: 'intent' as const, occurrence: null, enforcesValidity: true },
    ...(deduplicated === undefined ? {} : { deduplicated }),
  };
  return personNeeded(
    { tool: 't', arguments: {}, stake, reversible: false, origins, facts: {} },
    contract({ idempotency, ...(external === undefined ? {} : { external }) }),
    { limits: { EUR: 3_000 }, customerDay: {}, version: 'v', ...policy },
  );
}

describe('[S0-39] when a person must agree', () => {
  test('an amount: up to the limit nobody, above it somebody', () => {
    expect(asks({ stake: euros(2_999) })).toBeUndefined();
    expect(asks({ stake: euros(3_000) })).toBeUndefined();
    expect(asks({ stake: euros(3_001) })).toBe('refund 3001 is above the limit of 30.00 EUR');
  });

  test('a limit of nothing asks for everything but nothing', () => {
    expect(asks({ stake: euros(0), policy: { limits: { EUR: 0 } } })).toBeUndefined();
    expect(asks({ stake: euros(1), policy: { limits: { EUR: 0 } } })).toBeDefined();
  });

  test.each(['USD', 'eur', 'toString', 'constructor', '__proto__', ''])(
    'a currency without a limit always asks: %s',
    (currency) => {
      expect(asks({ stake: { amount: 1, currency, summary: 'one' } })).toBe(
        `no limit is configured for ${currency}`,
      );
    },
  );

  test.each([Number.NaN, -1, 0.5, Infinity, 2 ** 53])(
    'what cannot be compared with a limit always asks: %d',
    (amount) => {
      expect(asks({ stake: euros(amount) })).toBe(
        `refund ${amount}: what is at stake is not a whole number of minor units`,
      );
    },
  );

  test('what always needs one, and what never does by itself', () => {
    expect(asks({ stake: 'always' })).toBe('this action always needs a person');
    expect(asks({ stake: 'never' })).toBeUndefined();
  });

  test('a value without a source, each by its name', () => {
    const origins = [
      { argument: 'amount', from: null },
      { argument: 'orderId', from: 'customer' },
      { argument: 'to', from: null },
    ];

    expect(asks({ origins })).toBe(
      'amount, to: the value does not come from where it must come from',
    );
    expect(asks({ origins: [{ argument: 'orderId', from: 'customer' }] })).toBeUndefined();
  });

  test('[S4-39] what leaves the company for a receiver who cannot tell a repeat', () => {
    expect(asks({ external: true, deduplicated: false })).toContain('leaves the company');
    expect(asks({ external: true, deduplicated: true })).toBeUndefined();
    expect(asks({ external: true })).toBeUndefined();
    expect(asks({ external: false, deduplicated: false })).toBeUndefined();
  });

  test('the rule of the company, which sees the whole action; the parts add up and none takes another away', () => {
    const seen: RiskyAction[] = [];
    const rule = (action: RiskyAction) => {
      seen.push(action);
      return action.stake === 'never' ? 'cannot be undone' : undefined;
    };

    expect(asks({ policy: { rule } })).toBe('cannot be undone');
    expect(seen).toEqual([
      { tool: 't', arguments: {}, stake: 'never', reversible: false, origins: [], facts: {} },
    ]);
    expect(asks({ stake: euros(3_001), policy: { rule } })).toContain('above the limit');
    expect(asks({ stake: euros(1), policy: { rule } })).toBeUndefined();
    expect(asks({ stake: euros(1), policy: { rule: () => 'ambiguous' } })).toBe('ambiguous');
    expect(asks({ stake: 'always', policy: { rule: () => undefined } })).toBeDefined();
  });

  test('amounts are shown in main units', () => {
    expect(formatMoney(74_000, 'EUR')).toBe('740.00 EUR');
    expect(formatMoney(5, 'USD')).toBe('0.05 USD');
  });
});

describe('the version of a policy', () => {
  const base = { limits: { EUR: 1 }, customerDay: { EUR: 5 } };

  test('changes with every limit and with nothing else', () => {
    const version = versionOf(base);

    expect(versionOf({ limits: { EUR: 1 }, customerDay: { EUR: 5 } })).toBe(version);
    expect(versionOf({ ...base, limits: { EUR: 2 } })).not.toBe(version);
    expect(versionOf({ ...base, limits: { EUR: 1, USD: 1 } })).not.toBe(version);
    expect(versionOf({ ...base, customerDay: { EUR: 6 } })).not.toBe(version);
  });

  test('is the one the company names, if it names one', () => {
    const agent = (risk: Partial<RiskPolicy>) =>
      defineAgent({
        ...{ name: 'a', instructions: '', tools: [], approvalLimits: base.limits },
        ...{ model: scriptedSequence([]), target: new MemoryTarget(), risk },
      }).rules.risk.version;

    expect(agent({ customerDay: base.customerDay })).toBe(versionOf(base));
    expect(agent({ customerDay: base.customerDay, version: '2026-12' })).toBe('2026-12');
  });
});

/** Reads, then refunds one after the other, then replies. */
const refundingEach =
  (...refunds: { amount: number; line?: string }[]) =>
  (view: View): ProposalInput => {
    const refund = refunds[view.rounds.length - 1];
    if (view.rounds.length > 0 && refund === undefined)
      return { kind: 'finish_candidate', reply: 'Refunded.' };
    const [tool, args] =
      refund === undefined ? ['get_order', {}] : (['issue_refund', refund] as const);
    return {
      kind: 'tool_calls',
      calls: [{ id: 'c1', tool, arguments: { orderId: '1', ...args } }],
    };
  };
/** Reads, then refunds what the message names, then replies. */
const refunding = (view: View): ProposalInput => {
  const amount = Number(/\d+/.exec(view.messages[0]?.text ?? '')?.[0]);
  if (view.rounds.length > 1) return { kind: 'finish_candidate', reply: 'Refunded.' };
  const [tool, args] =
    view.rounds.length === 0
      ? ['get_order', { orderId: '1' }]
      : ['issue_refund', { orderId: '1', amount }];
  return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: args }] };
};
const approve: NonNullable<PlayOptions['people']> = async ({ id }, { store }) => {
  await store.decideApproval(id, 'approved', 'ana');
};
const order = { id: '1', total: 1_000_000 };

describe("a customer's day", () => {
  async function day(options: PlayOptions = {}) {
    const shop = new Shop();
    shop.add(order);
    return converse({ policy: refunding, shop, risk: { customerDay: { EUR: 3_000 } }, ...options });
  }

  test('at its limit nobody is asked, one beyond it somebody is', async () => {
    for (const [amounts, asked] of [
      [[1_000, 2_000], false],
      [[1_000, 2_001], true],
      [[3_000], false],
      [[3_001], true],
    ] as const) {
      // A further refund of one conversation would be a possible repeat: each message is one of its own.
      const conversation = await day();
      let rest: unknown;
      for (const [index, amount] of amounts.entries()) {
        const next = await day({ opened: conversation, conversationId: `c${index}` });
        ({ rest } = await next.say(`Refund ${amount}`));
      }
      const waiting = await conversation.records.pendingApprovals();
      expect([amounts, waiting.length > 0]).toEqual([amounts, asked]);
      expect(rest).toMatchObject({ kind: asked ? 'parked' : 'ended' });
      if (asked) {
        expect(waiting[0]?.reason).toBe(
          `with refund ${amounts.at(-1)} this customer's day is above 30.00 EUR`,
        );
      }
    }
  });

  test('what a person agreed to is booked too: the next one asks', async () => {
    const first = await day({ people: approve });
    await first.say('Refund 4000');
    expect((await first.turn()).reason).toBe('replied');
    const second = await day({ opened: first, conversationId: 'c2' });

    const { rest } = await second.say('Refund 1');

    expect(rest).toMatchObject({ kind: 'parked', park: { kind: 'approval' } });
  });

  test('what a person agreed to for being above the limit is booked too', async () => {
    const limits = { approvalLimits: { EUR: 2_000 } };
    const first = await day({ ...limits, people: approve });
    await first.say('Refund 2500');
    const second = await day({ ...limits, opened: first, conversationId: 'c2' });

    expect((await second.say('Refund 501')).rest).toMatchObject({ kind: 'parked' });
    const third = await day({ ...limits, opened: first, conversationId: 'c3' });
    expect((await third.say('Refund 500')).rest).toMatchObject({ kind: 'ended' });
  });

  test('an amount that the shop refused does not let a larger one of the same operation pass', async () => {
    const shop = new Shop();
    shop.add(order);
    shop.faults['refund'] = ['refuse'];

    const { rest } = await play({
      ...{ shop, risk: { customerDay: { EUR: 3_000 } } },
      policy: (view) => {
        const amount = view.rounds.length === 1 ? 100 : 4_000;
        if (view.rounds.length > 2) return { kind: 'finish_candidate', reply: 'Refunded.' };
        const [tool, args] =
          view.rounds.length === 0
            ? ['get_order', { orderId: '1' }]
            : ['issue_refund', { orderId: '1', amount }];
        return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: args }] };
      },
    });

    expect(shop.effects).toEqual([]);
    expect(rest).toMatchObject({ kind: 'parked', park: { kind: 'approval' } });
  });

  test('[S2-44] asking for what was done once more, for less, frees nothing of the day', async () => {
    const shop = new Shop();
    shop.add(order);

    const { rest, turn } = await play(
      {
        ...{ shop, risk: { customerDay: { EUR: 3_000 } } },
        policy: refundingEach({ amount: 3_000 }, { amount: 1 }, { amount: 1, line: 'one' }),
      },
      'Refund line one of order 1',
    );

    expect(turn.state.rounds[2]?.calls[0]?.result).toMatchObject({ code: 'conflict' });
    expect(shop.effects).toMatchObject([{ amount: 3_000 }]);
    expect(rest).toMatchObject({ kind: 'parked', park: { kind: 'approval' } });
  });

  test('an action of no amount lowers it for none that follows', async () => {
    const shop = new Shop();
    shop.add(order);
    const tools = shopTools(shop, {
      issue_refund: {
        approval: (args) => {
          const { amount, line } = args as { amount: number; line?: string };
          return euros(line === 'minus' ? -amount : amount);
        },
      },
    });

    let asked = 0;
    const first = await day({
      ...{ shop, tools },
      policy: refundingEach({ amount: 4_000, line: 'minus' }, { amount: 3_000 }),
      people: async (...given) => {
        asked += 1;
        await approve(...given);
      },
    });
    await first.say('Refund the line minus of order 1');
    const second = await day({ opened: first, conversationId: 'c2' });

    expect((await second.say('Refund 1')).rest).toMatchObject({ kind: 'parked' });
    expect(asked).toBe(1);
    expect(shop.effects).toHaveLength(2);
  });

  test('it is a day of UTC, of one customer, of one currency', async () => {
    const clock = { ms: Date.parse('2026-12-01T23:59:00Z'), now: () => clock.ms };
    const first = await day({ clock });
    await first.say('Refund 3000');
    const sameDay = await day({ clock, opened: first, conversationId: 'c2' });
    expect((await sameDay.say('Refund 1')).rest.kind).toBe('parked');

    clock.ms += 60_000;
    const nextDay = await day({ clock, opened: first, conversationId: 'c3' });
    expect((await nextDay.say('Refund 3000')).rest.kind).toBe('ended');
  });

  test('a currency without such a sum has none', async () => {
    const shop = new Shop();
    shop.add(order);
    const { rest } = await play(
      { shop, policy: refunding, risk: { customerDay: { USD: 1 } } },
      'Refund 4000',
    );

    expect(rest.kind).toBe('ended');
  });
});

describe('an approval is bound to what it was given for', () => {
  test('the digest of the action that was approved is the one of the row that was run', async () => {
    const shop = new Shop();
    shop.add(order);
    const approved: string[] = [];

    const { ledger } = await play(
      {
        ...{ shop, policy: refunding, approvalLimits: { EUR: 0 } },
        people: async (approval, opened) => {
          approved.push(approval.actionHash);
          await approve(approval, opened);
        },
      },
      'Refund 100',
    );

    expect(approved).toEqual([actionHash('issue_refund', { orderId: '1', amount: 100 })]);
    expect((await ledger()).map(({ actionHash: hash }) => hash)).toEqual(approved);
  });

  test('[S2-12] changed state or policy in the meantime: it is asked again, as another approval, and nothing is run', async () => {
    const shop = new Shop();
    const { version } = shop.add(order);
    const conversation = await converse({ shop, policy: refunding, approvalLimits: { EUR: 0 } });
    await conversation.say('Refund 100');
    const asked = async () => {
      const [approval] = await conversation.records.pendingApprovals();
      if (approval === undefined) throw new Error('nothing waits');
      return approval;
    };
    const first = await asked();
    await approve(first, conversation);
    const read = shop.orders.get('1');
    if (read !== undefined) read.version = version + 1;

    await conversation.goOn();
    const second = await asked();
    await approve(second, conversation);
    await conversation.goOn({ risk: { version: 'another' } });
    const third = await asked();

    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
    expect([first.seen, second.seen]).toMatchObject([{ version }, { version: version + 1 }]);
    expect(third.policy).toBe('another');
    expect(shop.effects).toEqual([]);

    await approve(third, conversation);
    await conversation.goOn({ risk: { version: 'another' } });
    expect(shop.effects).toMatchObject([{ kind: 'refund', amount: 100 }]);
    expect((await conversation.turn()).reason).toBe('replied');
  });

  test('what a deploy made of the frozen arguments meanwhile is another action: it is asked again, and shown as it would run', async () => {
    const shop = new Shop();
    shop.add(order);
    const conversation = await converse({ shop, policy: refunding, approvalLimits: { EUR: 0 } });
    await conversation.say('Refund 100');
    const waiting = async () => (await conversation.records.pendingApprovals())[0];
    const before = await waiting();
    await conversation.store.decideApproval(before?.id ?? '', 'approved', 'ana');
    const inCents = z.object({
      orderId: z.string(),
      amount: z.number().transform((euro) => euro * 100),
      line: z.string().default('refund'),
    });
    const tools = shopTools(shop, { issue_refund: { input: inCents } });

    await conversation.goOn({ tools });
    const after = await waiting();

    expect(shop.effects).toEqual([]);
    expect(after?.id).not.toBe(before?.id);
    expect([before?.arguments, after?.arguments]).toEqual([
      { orderId: '1', amount: 100 },
      { orderId: '1', amount: 10_000, line: 'refund' },
    ]);
  });

  test('[S2-12] it is used up by the call it was given for: when the shop refuses that one, the same action asks anew', async () => {
    const shop = new Shop();
    shop.add(order);
    shop.faults['refund'] = ['refuse'];
    const given: string[] = [];

    const { turn } = await play({
      ...{ shop, approvalLimits: { EUR: 0 } },
      policy: refundingEach({ amount: 100 }, { amount: 100 }),
      people: async ({ id }, { store }) => {
        given.push(id);
        await store.decideApproval(id, 'approved', `person ${given.length}`);
      },
    });

    const decided = turn.events.filter((event) => event.type === 'approval_decided');
    expect(decided.map(({ approvalId, by }) => [approvalId, by])).toEqual([
      [given[0], 'person 1'],
      [given[1], 'person 2'],
    ]);
    expect(new Set(given).size).toBe(2);
    expect(turn.state.rounds.slice(1, 3).map(({ calls: [call] }) => call?.result?.kind)).toEqual([
      'refused',
      'ok',
    ]);
    expect(shop.effects).toMatchObject([{ kind: 'refund', amount: 100 }]);
  });

  test('a person sees what the tool would get: its defaults, and nothing that only the model wrote', async () => {
    const shop = new Shop();
    shop.add(order);
    const input = z.object({
      orderId: z.string(),
      amount: z.number(),
      line: z.string().default('refund'),
    });

    const { records, goOn, ledger } = await play({
      ...{ shop, approvalLimits: { EUR: 0 } },
      tools: shopTools(shop, { issue_refund: { input } }),
      policy: (view) => {
        const call = refunding({ ...view, messages: [{ text: '4000' }] });
        if (call.kind !== 'tool_calls') return call;
        const written = { currency: 'JPY', approved: true, approval: { by: 'the boss' } };
        return {
          ...call,
          calls: call.calls.map((one) => ({
            ...one,
            arguments: { ...(one.arguments as object), ...written },
          })),
        };
      },
    });
    const [approval] = await records.pendingApprovals();
    await goOn({ people: approve });

    const run = { orderId: '1', amount: 4_000, line: 'refund' };
    expect(approval?.arguments).toEqual(run);
    expect((await ledger()).map(({ arguments: args }) => args)).toEqual([run]);
  });

  test('what no longer passes the checks when it comes back is refused, and the turn goes on', async () => {
    const shop = new Shop();
    shop.add(order);
    const conversation = await converse({ shop, policy: refunding, approvalLimits: { EUR: 0 } });
    await conversation.say('Refund 100');
    const [approval] = await conversation.records.pendingApprovals();
    if (approval === undefined) throw new Error('nothing waits');
    await approve(approval, conversation);
    const tools = shopTools(shop, {
      issue_refund: { range: () => ({ code: 'frozen', message: 'no refunds today.' }) },
    });

    await conversation.goOn({ tools });

    const { state } = await conversation.turn();
    expect(state.rounds[1]?.calls[0]?.result).toMatchObject({ check: 'allowlist', code: 'frozen' });
    expect(shop.effects).toEqual([]);
  });

  test('a state that cannot be read is nothing to agree to: the call is refused before anybody is asked', async () => {
    const shop = new Shop();
    shop.add(order);
    shop.faults['get'] = ['none', 'lost_before'];

    const { records, turn } = await play(
      { shop, policy: refunding, approvalLimits: { EUR: 0 } },
      'Refund 100',
    );

    expect(turn.state.rounds[1]?.calls[0]?.result).toMatchObject({
      check: 'approval',
      code: 'state_unreadable',
    });
    expect(await records.pendingApprovals()).toEqual([]);
  });

  test('an operation that is on record already is answered from there; nobody is asked a second time', async () => {
    const shop = new Shop();
    shop.add(order);
    let asked = 0;

    const { turn, said } = await play(
      {
        ...{ shop, approvalLimits: { EUR: 0 } },
        policy: (view) =>
          view.rounds.length < 3
            ? refunding({ ...view, rounds: view.rounds.slice(0, 1) })
            : { kind: 'finish_candidate', reply: 'Refunded.' },
        people: async (approval, opened) => {
          asked += 1;
          await approve(approval, opened);
        },
      },
      'Refund 100',
    );

    expect(asked).toBe(1);
    expect(said('holding')).toHaveLength(1);
    expect(turn.state.rounds[2]?.calls[0]?.result).toMatchObject({ kind: 'ok', earlier: true });
    expect(shop.effects).toHaveLength(1);
  });
});

describe.each([-1, 1.5, Number.NaN])('defineAgent refuses limits nobody can mean: %d', (limit) => {
  test.each<[string, Partial<AgentOptions>]>([
    ['approvalLimits.EUR', { approvalLimits: { EUR: limit } }],
    ['risk.customerDay.EUR', { risk: { customerDay: { EUR: limit } } }],
    ['caps.conversation.tokens', { caps: { conversation: { tokens: limit } } }],
    ['caps.day.replies', { caps: { day: { replies: limit } } }],
    ['limits.rounds', { limits: { rounds: limit } }],
    ['sourceLimits.web.rounds', { sourceLimits: { web: { rounds: limit } } }],
  ])('%s', (field, options) => {
    expect(() =>
      defineAgent({
        ...{ name: 'a', instructions: '', tools: [], ...options },
        ...{ model: scriptedSequence([]), target: new MemoryTarget() },
      }),
    ).toThrow(field);
  });
});
