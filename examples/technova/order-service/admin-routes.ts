import { z } from 'zod';
import { inTransaction } from '../service/database.ts';
import { faultFields, RandomFaults } from '../service/fault-script.ts';
import { parseInput } from '../service/http-server.ts';
import { addLogRoutes } from '../service/log-routes.ts';
import { changeByOthers, releaseCancellation } from './other-hands.ts';
import { seedOrders } from './seeding.ts';
import { SettingsChange } from './settings.ts';
import { convertExports, World } from './world.ts';
import type { HttpServer } from '../service/http-server.ts';
import type { ScriptedFault } from '../service/fault-script.ts';
import type { Shop } from './shop.ts';

const OrderPath = z.object({ id: z.string() });

const FaultRequest = z.strictObject({
  faults: z
    .array(
      z.strictObject({
        operation: z.enum(['cancel', 'refund', 'get', 'get_refund']),
        orderId: z.string().optional(),
        ...faultFields,
      }),
    )
    .default([]),
  random: RandomFaults.optional(),
});

/** What tests, the demo and the judge use: seeding, switches, faults, the other parties, the log. Not for agents. */
export function addAdminRoutes({ app, closing }: HttpServer, shop: Shop): void {
  addLogRoutes(app, shop.log, closing);

  app.post('/admin/orders', (request) => {
    const { orders } = parseInput(World, convertExports(request.body));
    seedOrders(shop, orders);
    return { seeded: orders.map((order) => order.id) };
  });

  app.post('/admin/settings', (request) => {
    const changed = parseInput(SettingsChange, request.body);
    const settings = shop.settings.change(changed);
    if (changed.race !== undefined) shop.race.restart();
    shop.settler.arm();
    return { settings };
  });

  app.post('/admin/faults', (request) => {
    const { faults, random } = parseInput(FaultRequest, request.body);
    shop.faults.install(faults.map(toScripted), random);
    return shop.faults.state();
  });

  app.post('/admin/ship/:id', (request) => {
    const { id } = OrderPath.parse(request.params);
    return { order: changeByOthers(shop, id, 'ship') };
  });

  app.post('/admin/reinstate/:id', (request) => {
    const { id } = OrderPath.parse(request.params);
    return { order: changeByOthers(shop, id, 'reinstate') };
  });

  app.post('/admin/release/:id', (request) => {
    const { id } = OrderPath.parse(request.params);
    const order = releaseCancellation(shop, id);
    shop.settler.arm();
    return { order };
  });

  app.get('/state', () => {
    inTransaction(shop.db, () => shop.settler.settleDue());
    return {
      now: new Date(shop.now()).toISOString(),
      settings: shop.settings.current,
      faults: shop.faults.state(),
      orders: shop.orders.all(),
      refunds: shop.refunds.all(),
    };
  });
}

function toScripted({
  orderId,
  ...fault
}: z.infer<typeof FaultRequest>['faults'][number]): ScriptedFault {
  return { ...fault, subject: orderId };
}
