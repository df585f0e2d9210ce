import { runServiceProcess } from '../service/service-process.ts';
import { startTicketDesk } from './start.ts';

await runServiceProcess('ticket-desk', 'ticket-desk.sqlite', startTicketDesk);
