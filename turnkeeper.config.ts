import { technovaAgent } from './examples/technova/agent/agent.ts';

/** The agent that the commands of this repository run: the TechNova example. */
export default technovaAgent({
  orderServiceUrl: serviceUrl('ORDER_SERVICE_URL', 'http://127.0.0.1:4001'),
  ticketDeskUrl: serviceUrl('TICKET_DESK_URL', 'http://127.0.0.1:4002'),
});

function serviceUrl(variable: string, example: string): string {
  const value = process.env[variable] ?? '';
  if (URL.canParse(value) && /^https?:/.test(value)) return value.replace(/\/+$/, '');
  const seen = value === '' ? 'is not set' : `is ${JSON.stringify(value)}`;
  throw new Error(
    `${variable} ${seen}: it must be the base URL of the running service, for example ${example}`,
  );
}
