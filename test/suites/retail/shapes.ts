import { z } from 'zod';
import type { Facts } from '../../../src/index.ts';

const addressSchema = z.object({
  address1: z.string(),
  address2: z.string(),
  city: z.string(),
  state: z.string(),
  country: z.string(),
  zip: z.string(),
});

export const orderSchema = z.looseObject({
  order_id: z.string(),
  user_id: z.string(),
  status: z.string(),
  address: addressSchema,
  items: z.array(z.looseObject({ item_id: z.string(), product_id: z.string(), price: z.number() })),
  payment_history: z.array(
    z.object({ transaction_type: z.string(), payment_method_id: z.string() }),
  ),
  cancel_reason: z.string().nullish(),
  return_items: z.array(z.string()).nullish(),
  return_payment_method_id: z.string().nullish(),
  exchange_items: z.array(z.string()).nullish(),
  exchange_new_items: z.array(z.string()).nullish(),
  exchange_payment_method_id: z.string().nullish(),
});
export type Order = z.infer<typeof orderSchema>;

export const userSchema = z.looseObject({
  user_id: z.string(),
  orders: z.array(z.string()),
  address: addressSchema,
  payment_methods: z.record(
    z.string(),
    z.looseObject({ source: z.string(), balance: z.number().optional() }),
  ),
});
export type User = z.infer<typeof userSchema>;

export const productSchema = z.looseObject({
  product_id: z.string(),
  variants: z.record(z.string(), z.looseObject({ price: z.number() })),
});

/** The arguments of all write tools in one: which of them a tool has is the shop's own schema's business. */
const argumentsSchema = addressSchema
  .extend({
    order_id: z.string(),
    user_id: z.string(),
    reason: z.string(),
    item_ids: z.array(z.string()),
    new_item_ids: z.array(z.string()),
    payment_method_id: z.string(),
  })
  .partial();
export type WriteArguments = z.infer<typeof argumentsSchema>;

export function readArguments(args: unknown): WriteArguments {
  return argumentsSchema.parse(args);
}

export function orderFact(facts: Facts, id = ''): Order | undefined {
  return orderSchema.safeParse(facts[`order:${id}`]?.data).data;
}

export function userFact(facts: Facts, id = ''): User | undefined {
  return userSchema.safeParse(facts[`user:${id}`]?.data).data;
}

/** What the new items of a swap cost more than the old ones, as far as the products have been read. */
export function priceDifference(args: WriteArguments, facts: Facts): number | undefined {
  const order = orderFact(facts, args.order_id);
  let difference = 0;
  for (const [index, id] of (args.item_ids ?? []).entries()) {
    const item = order?.items.find(({ item_id }) => item_id === id);
    const fact = facts[`product:${item?.product_id ?? ''}`]?.data;
    const variants = productSchema.safeParse(fact).data?.variants;
    const next = variants?.[args.new_item_ids?.[index] ?? ''];
    if (item === undefined || next === undefined) return undefined;
    difference += next.price - item.price;
  }
  return difference;
}

export function sameAddress(a: WriteArguments, b: WriteArguments): boolean {
  return addressKey(a) === addressKey(b);
}

export function addressKey(address: WriteArguments): string {
  const { address1, address2, city, state, country, zip } = address;
  return [address1, address2, city, state, country, zip].join(', ');
}
