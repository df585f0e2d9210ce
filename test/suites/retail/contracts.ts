import { z } from 'zod';
import {
  defineTool,
  type ArgumentSource,
  type Denial,
  type Facts,
  type Requester,
  type ToolContract,
} from '../../../src/index.ts';
import { ORDER_SHOWS, userShows } from './landed.ts';
import {
  addressKey,
  orderFact,
  orderSchema,
  priceDifference,
  readArguments,
  userFact,
  userSchema,
  type WriteArguments,
} from './shapes.ts';
import { ACCEPTED, type ListedTool, type ShopApi } from './shop-api.ts';

/** It hands over to people; here that is a proposal and no tool. */
export const TRANSFER = 'transfer_to_human_agents';

/** A call of the shop that takes this long is not answered any more; longer than anything it does late. Milliseconds. */
const TIMEOUT_MS = 1_500;
/** Reads enough that a re-read outlasts a validity, and soon enough that nobody waits long. */
const READS = { attempts: 40, backoffMs: 150, maxBackoffMs: 1_000 };

type ReadOverlay = {
  avoid: string;
  about(args: Record<string, unknown>): string;
  authorize?(args: Record<string, unknown>, principal: Requester): Denial | undefined;
  owner?(output: unknown): string | undefined;
};

const READ_TOOLS: Readonly<Record<string, ReadOverlay>> = {
  find_user_id_by_email: {
    avoid: 'finding other people.',
    about: (args) => `email:${String(args['email'])}`,
    owner: String,
  },
  find_user_id_by_name_zip: {
    avoid: 'finding other people.',
    about: (args) => `name:${[args['first_name'], args['last_name'], args['zip']].join(' ')}`,
    owner: String,
  },
  get_user_details: {
    avoid: 'other people.',
    about: (args) => `user:${String(args['user_id'])}`,
    authorize: (args, { id }) => (args['user_id'] === id ? undefined : NOT_YOURS),
    owner: (user) => userSchema.parse(user).user_id,
  },
  get_order_details: {
    avoid: 'orders of other people.',
    about: (args) => `order:${String(args['order_id'])}`,
    owner: (order) => orderSchema.parse(order).user_id,
  },
  get_product_details: {
    avoid: 'single items.',
    about: (args) => `product:${String(args['product_id'])}`,
  },
  get_item_details: { avoid: 'products.', about: (args) => `item:${String(args['item_id'])}` },
  list_all_product_types: { avoid: 'prices and stock.', about: () => 'products' },
  calculate: { avoid: 'anything but numbers.', about: () => 'arithmetic' },
};

const NOT_YOURS: Denial = { code: 'not_yours', message: 'this belongs to somebody else.' };

/** State and country follow from the rest of an address; who gives one rarely spells them out. */
const FROM_CUSTOMER = {
  address1: 'customer',
  address2: 'customer',
  city: 'customer',
  zip: 'customer',
  state: 'model',
  country: 'model',
} as const;
const ITEMS = { item_ids: 'authoritative', new_item_ids: 'authoritative' } as const;
const PAYMENT = { payment_method_id: 'authoritative' } as const;

type WriteOverlay = {
  avoid: string;
  reversible: boolean;
  provenance: Readonly<Record<string, ArgumentSource>>;
  /** Which state the order must be in. */
  from?: 'pending' | 'open' | 'delivered';
  /** Tells several of them on one resource apart. */
  occurrence?(args: WriteArguments): string;
};

const WRITE_TOOLS: Readonly<Record<string, WriteOverlay>> = {
  cancel_pending_order: {
    avoid: 'orders that are on their way.',
    reversible: false,
    provenance: { order_id: 'customer', reason: 'model' },
    from: 'pending',
  },
  modify_pending_order_address: {
    avoid: 'orders that are on their way.',
    reversible: true,
    provenance: { order_id: 'customer', ...FROM_CUSTOMER },
    from: 'open',
    occurrence: addressKey,
  },
  modify_pending_order_items: {
    avoid: 'a second change of the same order.',
    reversible: false,
    provenance: { order_id: 'customer', ...ITEMS, ...PAYMENT },
    from: 'pending',
  },
  modify_pending_order_payment: {
    avoid: 'orders that are on their way.',
    reversible: true,
    provenance: { order_id: 'customer', ...PAYMENT },
    from: 'open',
  },
  modify_user_address: {
    avoid: 'the address of an order.',
    reversible: true,
    provenance: { user_id: 'authoritative', ...FROM_CUSTOMER },
    occurrence: addressKey,
  },
  return_delivered_order_items: {
    avoid: 'orders that have not arrived.',
    reversible: false,
    provenance: { order_id: 'customer', item_ids: 'authoritative', ...PAYMENT },
    from: 'delivered',
  },
  exchange_delivered_order_items: {
    avoid: 'orders that have not arrived.',
    reversible: false,
    provenance: { order_id: 'customer', ...ITEMS, ...PAYMENT },
    from: 'delivered',
  },
};

/** The shop's own list of tools with what it does not say: effect, ownership, idempotency, verification, provenance. */
export async function retailTools(api: ShopApi): Promise<ToolContract[]> {
  const listed = await api.tools();
  return listed
    .filter(({ name }) => name !== TRANSFER)
    .map((tool) => {
      const [read, write] = [READ_TOOLS[tool.name], WRITE_TOOLS[tool.name]];
      if (read !== undefined) return readTool(api, tool, read);
      if (write !== undefined) return writeTool(api, tool, write);
      throw new Error(`the shop has a tool ${tool.name} nobody wrote a contract for`);
    });
}

function inputOf({ parameters }: ListedTool): z.ZodType<Record<string, unknown>> {
  return z.fromJSONSchema(parameters) as z.ZodType<Record<string, unknown>>;
}

function readTool(api: ShopApi, tool: ListedTool, overlay: ReadOverlay): ToolContract {
  const { avoid, about, authorize, owner } = overlay;
  return defineTool({
    name: tool.name,
    description: { use: tool.description, avoid },
    input: inputOf(tool),
    output: z.unknown(),
    effect: 'read',
    reversible: true,
    resource: (args) => [about(args)],
    provenance: {},
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    authorize: (args, principal) => authorize?.(args, principal),
    ...(owner === undefined ? {} : { owner }),
    run: (args, context) => api.call(tool.name, args, context),
  });
}

function writeTool(api: ShopApi, tool: ListedTool, overlay: WriteOverlay): ToolContract {
  const { avoid, reversible, provenance, from, occurrence } = overlay;
  const resource = (args: Record<string, unknown>): string => {
    const { order_id, user_id = '' } = readArguments(args);
    return order_id === undefined ? `user:${user_id}` : `order:${order_id}`;
  };
  const orderShows = ORDER_SHOWS[tool.name];
  return defineTool({
    name: tool.name,
    description: { use: tool.description, avoid },
    input: inputOf(tool),
    output: z.union([orderSchema, userSchema, z.object({ accepted: z.literal(true) })]),
    effect: 'write',
    reversible,
    resource: (args) => [resource(args)],
    provenance,
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    idempotency: {
      // Every task has a shop of its own, with the same order numbers in it.
      scope: 'intent',
      occurrence: occurrence === undefined ? null : (args) => occurrence(readArguments(args)),
      enforcesValidity: true,
    },
    approval: () => 'never',
    range: (args, facts) => rightState(from, readArguments(args), facts),
    authorize: (args, principal, facts) => ownThings(readArguments(args), principal, facts),
    verify: {
      ...READS,
      level: 'reread',
      read: (args, context) => {
        const { order_id, user_id } = readArguments(args);
        return order_id === undefined
          ? api.call('get_user_details', { user_id }, context)
          : api.call('get_order_details', { order_id }, context);
      },
      landed: (read, args) => {
        const asked = readArguments(args);
        const shown =
          orderShows === undefined
            ? userShows(userSchema.parse(read), asked)
            : orderShows(orderSchema.parse(read), asked);
        return shown ? 'landed' : 'not_landed';
      },
    },
    run: async (args, context) => (await api.call(tool.name, args, context)) as typeof ACCEPTED,
  });
}

const STATES = {
  pending: { fits: (status: string) => status === 'pending', code: 'order_not_pending' },
  open: { fits: (status: string) => status.includes('pending'), code: 'order_not_pending' },
  delivered: { fits: (status: string) => status === 'delivered', code: 'order_not_delivered' },
} as const;

/** Check 2: as far as what was read tells, the shop would do it. */
function rightState(
  from: WriteOverlay['from'],
  args: WriteArguments,
  facts: Facts,
): Denial | undefined {
  const order = orderFact(facts, args.order_id);
  if (order === undefined || from === undefined) return undefined;
  const { fits, code } = STATES[from];
  if (!fits(order.status)) return { code, message: `the order is ${order.status}.` };
  const card = userFact(facts, order.user_id)?.payment_methods[args.payment_method_id ?? ''];
  const balance = card?.source === 'gift_card' ? (card.balance ?? 0) : Infinity;
  return (priceDifference(args, facts) ?? 0) > balance
    ? { code: 'insufficient_gift_card', message: 'the card does not cover the difference.' }
    : undefined;
}

/** Check 3: the order or profile is the requester's, and so is the payment method. */
function ownThings(args: WriteArguments, { id }: Requester, facts: Facts): Denial | undefined {
  const { order_id, payment_method_id } = args;
  if (order_id === undefined) return args.user_id === id ? undefined : NOT_YOURS;
  const order = orderFact(facts, order_id);
  if (order === undefined) return { code: 'not_read', message: `read order ${order_id} first.` };
  if (order.user_id !== id) return NOT_YOURS;
  if (payment_method_id === undefined) return undefined;
  const user = userFact(facts, id);
  if (user === undefined) return { code: 'not_read', message: `read the profile of ${id} first.` };
  return payment_method_id in user.payment_methods
    ? undefined
    : { code: 'payment_method_not_found', message: 'the customer has no such payment method.' };
}
