import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { createBackEnd, type BackEnd } from './data.ts';

/** Probabilities a call and milliseconds, in the words of the suite's back end. */
type Chances = Readonly<Record<string, number | string>>;
/** What goes wrong with every call, and what besides with those that change something. */
export type Faults = { calls?: Chances; writes?: Chances };

const countersSchema = z.object({
  totals: z.record(z.string(), z.number()),
  tools: z.record(z.string(), z.object({ requests: z.number() })),
});

/**
 * The suite's shop as a company would put it on its network. The shop gives every task a world of its own; the door
 * knows which one a customer is in at the moment. And it turns calls away that arrive after their validity, which the
 * shop itself does not look at.
 */
export class FrontDoor {
  readonly url: string;
  readonly #backEnd: BackEnd;
  readonly #worlds = new Map<string, string>();

  private constructor(backEnd: BackEnd, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    this.#backEnd = backEnd;
    const { server } = backEnd;
    const [handle] = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (this.#admits(request, response)) handle?.call(server, request, response);
    });
  }

  static async open(seed: number): Promise<FrontDoor> {
    const backEnd = createBackEnd(seed);
    return new FrontDoor(backEnd, await backEnd.listen());
  }

  /** From now on the calls made for this customer reach this world. */
  lead(customer: string, world: string): void {
    this.#worlds.set(customer, world);
  }

  async setFaults({ calls, writes = {} }: Faults, seed: number): Promise<void> {
    const script = calls === undefined ? [] : [calls];
    await this.#ask('/faults', '', { faults: writes, script, seed });
  }

  /** The state of the shop, with everything it has accepted done. */
  async stateHash(world: string): Promise<string> {
    return z.object({ hash: z.string() }).parse(await this.#ask('/state-hash?flush=1', world)).hash;
  }

  async counters(world: string): Promise<z.infer<typeof countersSchema>> {
    return countersSchema.parse(await this.#ask('/counters', world));
  }

  async close(): Promise<void> {
    await this.#backEnd.close();
  }

  #admits(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers } = request;
    if (Date.now() > Number(headers['x-valid-until'] ?? Infinity)) {
      const error = { code: 'expired', message: 'it came after its validity; nothing was done' };
      response.writeHead(410, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error }));
      return false;
    }
    const customer = headers['x-customer'];
    if (typeof customer === 'string') headers['x-world'] = this.#worlds.get(customer) ?? 'nowhere';
    return true;
  }

  async #ask(path: string, world: string, body?: object): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: world === '' ? {} : { 'x-world': world },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return response.json();
  }
}
