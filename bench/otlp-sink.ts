import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes spans and forgets them, in a process of its own. */
const server = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200).end());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on('disconnect', () => process.exit(0));
