import { connect, createServer } from 'node:net';

/** A port of 127.0.0.1 that nobody listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** What a Redis on this port replies to one command, over a bare socket. Nothing within 500 ms: `undefined`. */
export function ask(port: number, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const done = (reply?: string): void => {
      socket.destroy();
      resolve(reply);
    };
    let reply = '';
    socket.setTimeout(500, () => done());
    socket.on('error', () => done());
    socket.on('close', () => done());
    socket.on('connect', () => socket.write(`${command}\r\n`));
    socket.setEncoding('utf8').on('data', (text: string) => {
      reply += text;
      if (isWhole(reply)) done(reply);
    });
  });
}

/** A bulk string states its length first; every other reply is a line. */
function isWhole(reply: string): boolean {
  const end = reply.indexOf('\r\n');
  if (end === -1) return false;
  return !reply.startsWith('$') || reply.length >= end + 4 + Number(reply.slice(1, end));
}
