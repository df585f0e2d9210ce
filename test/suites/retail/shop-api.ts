import { z } from 'zod';
import { wasNeverSent } from '../../../examples/technova/agent/order-api.ts';
import { ToolRefusal, ToolUnavailable, type ToolContext } from '../../../src/index.ts';

const problemSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const listSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      kind: z.enum(['read', 'write', 'generic']),
      parameters: z.record(z.string(), z.unknown()),
    }),
  ),
});
export type ListedTool = z.infer<typeof listSchema>['tools'][number];

/** What the shop answers to a write that it will do later. */
export const ACCEPTED = { accepted: true } as const;

/** Speaks to the shop and says, in the runtime's words, how a call went. */
export class ShopApi {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async tools(): Promise<ListedTool[]> {
    const response = await fetch(`${this.#url}/tools`);
    return listSchema.parse(await response.json()).tools;
  }

  /** @throws ToolRefusal, ToolUnavailable, Error when nobody knows */
  async call(tool: string, args: object, context: ToolContext): Promise<unknown> {
    const { operation, validUntil, principal, signal } = context;
    const headers = {
      'content-type': 'application/json',
      'x-customer': principal.id,
      'x-valid-until': String(validUntil),
      ...(operation === '' ? {} : { 'idempotency-key': operation }),
    };
    const init = { method: 'POST', headers, body: JSON.stringify(args), signal };
    const response = await this.#send(`/tools/${tool}`, init);
    if (response.status === 202) return ACCEPTED;
    if (response.ok) return z.object({ result: z.unknown() }).parse(await response.json()).result;
    throw await whyNot(response);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#url + path, init);
    } catch (error) {
      if (!wasNeverSent(error)) throw error;
      throw new ToolUnavailable('shop_down', 'the shop does not listen', { cause: error });
    }
  }
}

async function whyNot(response: Response): Promise<Error> {
  const { status } = response;
  const { code, message } = problemSchema.parse(await response.json()).error;
  // Turned away at the door; every other 5xx may have come after the effect.
  if (status === 410 || status === 429 || code === 'unavailable') {
    return new ToolUnavailable(code, message);
  }
  return status >= 500 ? new Error(`the shop answered ${status}`) : new ToolRefusal(code, message);
}
