import { z } from 'zod';
import { describeIssues } from '../service/input-error.ts';
import { readSeedFile } from '../service/seed-file.ts';
import { OrderSeed } from './model.ts';

/** What the service can be seeded with. Other top-level fields (policy, articles) are left alone. */
export const World = z.object({ orders: z.array(OrderSeed) });
export type World = z.infer<typeof World>;

/** Reads a world file. Fails with one line that names file, field, value and fix. */
export function readWorldFile(path: string): World {
  return parseWorld(readSeedFile(path), path);
}

/** Checks a world; orders in the shop's export format (`owner`, `items`, decimal prices) are converted first. */
export function parseWorld(value: unknown, source = 'the seed'): World {
  const input = convertExports(value);
  const parsed = World.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new Error(`${source}: ${describeIssues(parsed.error, input).join('; ')}`);
}

/** An order as the shop exports it: decimal prices, dates without a time, lines without an id. */
const ShopExport = z.object({
  id: z.string(),
  owner: z.string(),
  status: z.string(),
  placed: z.string(),
  delivered: z.string().nullable(),
  total: z.number(),
  items: z.array(
    z.object({ sku: z.string(), name: z.string(), qty: z.number(), price: z.number() }),
  ),
  refunded: z.number(),
  flags: z.array(z.string()),
  note: z.string().optional(),
});

/** Turns the orders that are in the export format into seeds; leaves everything else as it is. */
export function convertExports(value: unknown): unknown {
  const world = z
    .looseObject({ currency: z.string().default('EUR'), orders: z.array(z.unknown()) })
    .safeParse(value);
  if (!world.success) return value;
  const { currency, orders } = world.data;
  return {
    ...world.data,
    orders: orders.map((order) => {
      const exported = ShopExport.safeParse(order);
      return exported.success ? fromExport(exported.data, currency) : order;
    }),
  };
}

function fromExport(order: z.infer<typeof ShopExport>, currency: string): unknown {
  return {
    id: order.id,
    customerId: order.owner,
    status: order.status,
    placedAt: startOfDay(order.placed),
    deliveredAt: order.delivered === null ? null : startOfDay(order.delivered),
    currency,
    total: cents(order.total),
    lines: order.items.map((item, index) => ({
      id: `line-${index + 1}`,
      sku: item.sku,
      name: item.name,
      quantity: item.qty,
      unitPrice: cents(item.price),
    })),
    refunded: cents(order.refunded),
    flags: order.flags,
    note: order.note ?? '',
  };
}

function startOfDay(date: string): string {
  return `${date}T00:00:00Z`;
}

function cents(amount: number): number {
  return Math.round(amount * 100);
}
