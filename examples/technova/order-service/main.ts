import { runServiceProcess } from '../service/service-process.ts';
import { startOrderService } from './start.ts';

await runServiceProcess('order-service', 'order-service.sqlite', startOrderService);
