import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP connection with a man in the middle, for faults no process makes on purpose: an answer that is lost after the
 * command was executed, a request that never leaves, a request that arrives late. Listens on 127.0.0.1 only.
 */
export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #rules: Rule[] = [];

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** @param target port of 127.0.0.1 to speak to; nobody has to listen there yet */
  static async start(target: number): Promise<TcpProxy> {
    // Half-open: what a caller who hung up had sent still arrives.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    const proxy = new TcpProxy(server, address.port);
    server.on('connection', (client) => proxy.#open(client, target));
    return proxy;
  }

  /** On every open connection the next answer is swallowed and the connection ends: done, but nobody is told. */
  loseAnswers(): number {
    for (const link of this.#links) link.loseAnswer();
    return this.#links.size;
  }

  /** On every open connection the next request is swallowed and the connection ends: not done. */
  loseRequests(): number {
    for (const link of this.#links) link.loseRequest();
    return this.#links.size;
  }

  /**
   * Does something to the next `times` requests that contain one of `texts`, right before they are forwarded.
   *
   * @returns how many there were so far
   */
  when(texts: readonly string[], times: number, act: (request: Request) => void): () => number {
    const rule: Rule = { texts, left: times, hits: 0, act };
    this.#rules.push(rule);
    return () => rule.hits;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const link of this.#links) link.cut();
    await closed;
  }

  #open(client: Socket, target: number): void {
    const link = new Link(client, target, (chunk) => this.#applyRules(link, chunk));
    this.#links.add(link);
    client.on('close', () => this.#links.delete(link));
  }

  #applyRules(link: Link, chunk: Buffer): void {
    for (const rule of this.#rules) {
      if (rule.left <= 0 || !rule.texts.some((text) => chunk.includes(text))) continue;
      rule.left -= 1;
      rule.hits += 1;
      rule.act(link);
    }
    this.#rules = this.#rules.filter(({ left }) => left > 0);
  }
}

/** What can be done to a request on its way. */
export type Request = {
  /** It is forwarded; the answer is swallowed and the connection ends. */
  loseAnswer(): void;
  /** It is swallowed and the connection ends. */
  lose(): void;
  /** It is forwarded later, whatever has happened until then. What comes behind it waits too. */
  hold(ms: number): void;
};

type Rule = {
  texts: readonly string[];
  left: number;
  hits: number;
  act: (request: Request) => void;
};

/** One connection and its way on. */
class Link implements Request {
  readonly #client: Socket;
  readonly #server: Socket;
  #loses: 'nothing' | 'request' | 'answer' = 'nothing';
  /** Requests go on in their order, also behind one that is held. */
  #way: Promise<void> = Promise.resolve();
  #holds = false;

  constructor(client: Socket, target: number, onRequest: (chunk: Buffer) => void) {
    this.#client = client;
    this.#server = connect({ host: '127.0.0.1', port: target, noDelay: true });
    client.on('data', (chunk: Buffer) => {
      if (this.#loses === 'request') return this.cut();
      onRequest(chunk);
      if (client.destroyed) return;
      this.#forward(() => this.#server.write(chunk));
    });
    this.#server.on('data', (chunk: Buffer) => {
      if (this.#loses === 'answer') return this.cut();
      client.write(chunk);
    });
    client.on('end', () => this.#forward(() => this.#server.end()));
    this.#server.on('end', () => client.end());
    client.on('close', () => this.#forward(() => this.#server.destroy()));
    this.#server.on('close', () => client.destroy());
    // The other side learns of it by the end of the connection.
    client.on('error', () => {});
    this.#server.on('error', () => {});
  }

  loseAnswer(): void {
    this.#loses = 'answer';
  }

  loseRequest(): void {
    this.#loses = 'request';
  }

  lose(): void {
    this.cut();
  }

  hold(ms: number): void {
    this.#holds = true;
    this.#way = this.#way.then(() => new Promise((resolve) => setTimeout(resolve, ms)));
  }

  cut(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #forward(step: () => void): void {
    if (this.#holds) this.#way = this.#way.then(step);
    else step();
  }
}
