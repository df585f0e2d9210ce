import {
  defineAgent,
  loadSkill,
  scriptedModel,
  type Agent,
  type AgentOptions,
  type Model,
} from '../../../src/index.ts';
import { cancelOrder } from './cancel-order.ts';
import { statesOnlyFacts } from './finish-check.ts';
import { issueRefund } from './issue-refund.ts';
import { OrderApi } from './order-api.ts';
import { policy } from './policy.ts';
import { getOrder, getRefund } from './read-tools.ts';
import { MENU } from './replies.ts';
import { ticketDesk } from './ticket-desk.ts';

export type TechnovaOptions = {
  /** Base URLs, e.g. `http://127.0.0.1:4001`. */
  orderServiceUrl: string;
  ticketDeskUrl: string;
  limits?: AgentOptions['limits'];
  /** Default: the scripted policy, which needs no key. */
  model?: Model;
};

const INSTRUCTIONS = `You answer customers of TechNova about their orders.
An order can be cancelled until it is handed to the carrier; a cancelled order is refunded in full.
Items that arrive defective are refunded when this is reported within 30 days of delivery.
Unused items can be returned within 30 days of delivery.
Answer questions about policies and products from the documents, with the passage you have it from.
Follow the skill before you cancel or refund. Say only what a tool has shown. Never mention a hold or a review of an order.
Requests about personal data, lawyers and chargebacks go to people.`;

/** Refunds up to these amounts need no person, in cents. */
const APPROVAL_LIMITS = { EUR: 5_000, USD: 50_000 };

const TEXTS = {
  holding:
    'Thank you for your message. A colleague will confirm your refund; you need not do anything.',
  handover: 'Thank you for your message. A colleague takes over from here and will write to you.',
};

/** The support agent of TechNova: four tools on the order service, help pages, one skill, replies to the ticket desk. */
export function technovaAgent(options: TechnovaOptions): Agent {
  const { orderServiceUrl, ticketDeskUrl, limits, model = scriptedModel(policy) } = options;
  const api = new OrderApi(orderServiceUrl);
  return defineAgent({
    name: 'technova',
    instructions: INSTRUCTIONS,
    tools: [getOrder(api), cancelOrder(api), issueRefund(api), getRefund(api)],
    skills: [loadSkill(new URL('../skills/cancel-and-refund/SKILL.md', import.meta.url))],
    model,
    target: ticketDesk(ticketDeskUrl),
    approvalLimits: APPROVAL_LIMITS,
    texts: TEXTS,
    judge: statesOnlyFacts,
    knowledge: { menu: MENU },
    ...(limits === undefined ? {} : { limits }),
  });
}
