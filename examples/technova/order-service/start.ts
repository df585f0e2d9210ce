import { createHttpServer, listen } from '../service/http-server.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { addCancelRoutes } from './cancel-routes.ts';
import { addOrderRoutes } from './order-routes.ts';
import { addRefundRoutes } from './refund-routes.ts';
import { seedMissingOrders } from './seeding.ts';
import { openShop } from './shop.ts';
import { parseWorld } from './world.ts';
import type { RunningService } from '../service/service-process.ts';

export interface OrderServiceOptions {
  /** 0 (default) picks a free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** SQLite file; default `:memory:`. */
  dataFile?: string;
  /** `{orders: [...]}`; orders that are stored already keep their state. */
  seed?: unknown;
  /** Epoch ms; default the system clock. */
  clock?: () => number;
}

/** Starts the order service in this process. Fails with one readable line on a bad seed or a port in use. */
export async function startOrderService(
  options: OrderServiceOptions = {},
): Promise<RunningService> {
  const { port = 0, host = '127.0.0.1', dataFile = ':memory:', seed, clock = Date.now } = options;
  const world = seed === undefined ? { orders: [] } : parseWorld(seed);
  const server = createHttpServer();
  const shop = openShop(dataFile, clock, server.closing);
  server.app.addHook('onClose', () => {
    shop.settler.stop();
    shop.db.close();
  });
  addOrderRoutes(server.app, shop);
  addCancelRoutes(server.app, shop);
  addRefundRoutes(server.app, shop);
  addAdminRoutes(server, shop);
  seedMissingOrders(shop, world.orders);
  const url = await listen(server.app, host, port);
  return { url, close: () => server.app.close() };
}
