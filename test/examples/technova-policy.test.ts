import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policy } from '../../examples/technova/agent/policy.ts';
import { countIn, orderIdsIn, readWish } from '../../examples/technova/agent/wishes.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { daysAgo, startTechnova, type Technova } from '../support/technova.ts';

const OWNER = 'ana@example.com';
const LIMITS: Readonly<Record<string, number>> = { EUR: 5_000, USD: 50_000 };

/** Asks the policy twice: were it to look at anything but the view, the answers could differ. */
const sameViewSameAnswer = scriptedModel((view) => {
  const proposal = policy(view);
  expect(policy(structuredClone(view))).toEqual(proposal);
  return proposal;
});

const lines = fc
  .array(
    fc.record({
      quantity: fc.integer({ min: 1, max: 4 }),
      unitPrice: fc.integer({ min: 100, max: 20_000 }),
    }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((some) =>
    some.map((line, index) => ({
      ...line,
      id: `line-${index + 1}`,
      sku: `SKU-${index}`,
      name: NAMES[index] ?? '',
    })),
  );
const NAMES = ['Bowl', 'Glass', 'Lamp'];

const anyOrder = fc
  .record({
    dashed: fc.boolean(),
    mine: fc.constantFrom(true, true, true, true, false),
    status: fc.constantFrom('placed', 'paid', 'packed', 'shipped', 'delivered', 'cancelled'),
    currency: fc.constantFrom('EUR', 'USD'),
    lines,
    paidBack: fc.constantFrom(0, 0.25, 1),
    held: fc.constantFrom(false, false, false, true),
    delivered: fc.integer({ min: 1, max: 60 }),
  })
  .map(({ mine, paidBack, held, delivered, ...order }) => {
    const total = order.lines.reduce(
      (sum, { quantity, unitPrice }) => sum + quantity * unitPrice,
      0,
    );
    return {
      ...order,
      customerId: mine ? OWNER : 'somebody.else@example.com',
      placedAt: daysAgo(70),
      deliveredAt: order.status === 'delivered' ? daysAgo(delivered) : null,
      total,
      refunded: Math.floor(total * paidBack),
      flags: held ? ['fraud_hold'] : [],
      settleMs: 0,
    };
  });
type AnyOrder = ReturnType<(typeof anyOrder)['generate']>['value'];

let cases = 0;

/** Order numbers are never used twice, also while a failure is being shrunk: a cancelled order stays cancelled. */
function nextNumber(dashed: boolean): string {
  cases += 1;
  const number = (cases * 7_919) % 90_000;
  return dashed
    ? `${10 + (cases % 90)}-${10_000 + number}`
    : String(1_000 + number * 7 + (cases % 7));
}

/** Puts the order into the shop, lets its customer write, and answers what became of it. */
async function outcomeOf(
  technova: Technova,
  { dashed, ...order }: AnyOrder,
  text: (id: string) => string,
) {
  const id = nextNumber(dashed);
  const conversationId = `c${id}`;
  const { status, body } = await technova.shop.post('/admin/orders', {
    orders: [{ id, ...order }],
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  await technova.say(text(id), { conversationId });
  const turn = await technova.rest(`test/${conversationId}`);
  const log = await technova.shop.log({ kind: 'effect', subject: id });
  const effects = log.map(({ operation, amount, lineId, orderStatusAtThatMoment: then }) =>
    operation === 'cancel'
      ? 'cancel'
      : `refund ${String(amount)} ${String(lineId)} while ${String(then)}`,
  );
  return { end: turn.phase === 'ended' ? turn.reason : 'waits', effects };
}

/** What the world demands of "cancel and refund", written down without a look at the policy. */
function rightForCancel(order: AnyOrder) {
  const left = order.total - order.refunded;
  if (order.customerId !== OWNER) return { end: 'asked_customer', effects: [] };
  if (order.flags.length > 0 && order.status !== 'cancelled')
    return { end: 'model_escalated', effects: [] };
  if (order.status === 'shipped' || order.status === 'delivered')
    return { end: 'declined', effects: [] };
  const cancelled = order.status === 'cancelled' ? [] : ['cancel'];
  if (left === 0) return { end: 'replied', effects: cancelled };
  if (left > (LIMITS[order.currency] ?? 0)) return { end: 'waits', effects: cancelled };
  return { end: 'replied', effects: [...cancelled, `refund ${left} null while cancelled`] };
}

function rightForDefect(order: AnyOrder, pieces: number) {
  const [line] = order.lines;
  if (order.customerId !== OWNER) return { end: 'asked_customer', effects: [] };
  if (order.flags.length > 0 && order.status !== 'cancelled')
    return { end: 'model_escalated', effects: [] };
  if (order.status !== 'delivered') return { end: 'asked_customer', effects: [] };
  if (Date.parse(order.deliveredAt ?? '') < Date.now() - 30 * 86_400_000)
    return { end: 'declined', effects: [] };
  if (line === undefined || pieces > line.quantity) return { end: 'asked_customer', effects: [] };
  const amount = pieces * line.unitPrice;
  if (amount > (LIMITS[order.currency] ?? 0)) return { end: 'waits', effects: [] };
  // More than is left to refund: the order service refuses, and what was paid before is not this policy's to explain.
  if (amount > order.total - order.refunded) return { end: 'model_escalated', effects: [] };
  return { end: 'replied', effects: [`refund ${amount} line-1 while delivered`] };
}

describe('whatever the order number, the amounts and the status', () => {
  test('[S0-14] a wish to cancel ends as the world demands', { timeout: 60_000 }, async () => {
    const technova = await startTechnova({ orders: [] }, { model: sameViewSameAnswer });
    const wording = fc.constantFrom(
      (id: string) => `Please cancel order #${id} and refund me.`,
      (id: string) => `Bitte stornieren Sie die Bestellung ${id}, danke.`,
      (id: string) =>
        `I ordered it by mistake. cancel order \u200f${id}\u200f, I want my money back!`,
    );
    await fc.assert(
      fc.asyncProperty(anyOrder, wording, async (order, say) => {
        expect(await outcomeOf(technova, order, say)).toEqual(rightForCancel(order));
      }),
      { numRuns: 60 },
    );
  });

  test('[S0-14] a report of a defect ends as the world demands', { timeout: 60_000 }, async () => {
    const technova = await startTechnova({ orders: [] }, { model: sameViewSameAnswer });
    const recent = anyOrder.map((order) => ({
      ...order,
      ...(order.status === 'shipped' || order.status === 'paid'
        ? { status: 'delivered' as const, deliveredAt: daysAgo(3) }
        : {}),
    }));
    await fc.assert(
      fc.asyncProperty(recent, fc.constantFrom(1, 2), async (order, pieces) => {
        const bowls = pieces === 1 ? 'One bowl' : 'Two bowls';
        const say = (id: string) => `${bowls} of order #${id} arrived broken. Refund please.`;
        expect(await outcomeOf(technova, order, say)).toEqual(rightForDefect(order, pieces));
      }),
      { numRuns: 60 },
    );
  });
});

describe('the skill', () => {
  test('[S0-29] is always in view by name and description; its procedure is loaded once, when the task needs it', async () => {
    const views: View[] = [];
    const model = scriptedModel((view) => {
      views.push(view);
      return policy(view);
    });
    const technova = await startTechnova(undefined, { model });
    const loads = (turn: TurnRecord | undefined) =>
      turn?.state.rounds.flatMap(({ calls }) => calls.filter(({ tool }) => tool === 'load_skill'))
        .length;

    await technova.say('Where is my order #4482?');
    await technova.say('Please cancel order #4482 and refund me.');
    await technova.say('Please cancel order #4482 and refund me.');
    const turns = await technova.ended(3);

    expect(turns.map(loads)).toEqual([0, 1, 0]);
    for (const { skills } of views) {
      expect(skills).toEqual([
        { name: 'cancel-and-refund', description: expect.stringContaining('Use when') },
      ]);
    }
  });
});

describe('reading what a customer wrote', () => {
  const view = (text: string, subject?: string): View =>
    ({ messages: [subject === undefined ? { text } : { text, subject }] }) as unknown as View;

  test.each([
    ['Please cancel 10-48300', 'cancel'],
    ['You cancelled 10-48355, where is my refund?', 'refund_status'],
    ['Bitte stornieren Sie 10-48300', 'cancel'],
    ['أريد إلغاء الطلب #4482', 'cancel'],
    ['The lamp does not work', 'defect'],
    ['Das Glas ist kaputt', 'defect'],
    ['المصباح لا يعمل', 'defect'],
    ['Quiero un reembolso', 'refund'],
    ['¿Dónde está mi pedido?', 'order_status'],
    ['Where is my order?', 'order_status'],
    ['I want to return the scarf', 'return'],
    ['Please delete all my data', 'data_request'],
    ['My lawyer will call', 'legal'],
    ['keep it please, sorry!', 'keep'],
    ['Thanks a lot!', 'nothing'],
    ['Thanks, but where is my order?', 'order_status'],
    ['Do you sell gift cards?', 'other'],
  ])('"%s" is a wish of kind %s', (text, wish) => {
    expect(readWish(view(text)).wish).toBe(wish);
  });

  test('what is quoted below the own words is not the wish', () => {
    const text =
      'Where is my order?\n\nOn Monday, TechNova wrote:\n> Please cancel your order before Friday.';

    expect(readWish(view(text)).wish).toBe('order_status');
    expect(readWish(view('> please cancel\nWhere is my order?')).wish).toBe('order_status');
  });

  test('invisible characters alone are a blank message', () => {
    expect(readWish(view(' \u200b\n\u202e\n', '(no subject)')).blank).toBe(true);
  });

  test.each([
    ['order #4482 please', ['4482']],
    ['\u200f10-48311\u200f', ['10-48311']],
    ['10\u201148320', ['10-48320']],
    ['٤٤٨٢ is no order number by itself, order ٤٤٨٢ is', ['4482']],
    ['10-48300, 10-48213 and again 10-48300', ['10-48300', '10-48213']],
    ['I paid 189.00 on 2026-03-04, call 555-123456', []],
    ['Bestellung 4482', ['4482']],
  ])('order numbers in "%s"', (text, numbers) => {
    expect(orderIdsIn(text)).toEqual(numbers);
  });

  test.each([
    ['one of the two glasses', 2, 1],
    ['both glasses', 2, 2],
    ['the glass, or rather 2 glasses', 3, 2],
    ['my glass', 2, undefined],
  ])('how many of %j (bought: %i)', (text, quantity, count) => {
    expect(countIn(text, 'Glass', quantity)).toBe(count);
  });
});
