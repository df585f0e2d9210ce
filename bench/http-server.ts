import { once } from 'node:events';
import { startApi } from '../src/http/index.ts';
import { Operator } from '../src/producers/operator.ts';
import { Queues } from '../src/producers/index.ts';
import { ApiKeys } from '../src/store/api-keys.ts';
import { ingressConnection, Store } from '../src/store/index.ts';
import { Records } from '../src/store/records.ts';

/** What the process with the HTTP service tells the one that measures it. */
export type Serving = { url: string; token: string };

/** The HTTP service in a process of its own, as in production, until its parent is gone. */
const [redisUrl = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit());

const redis = ingressConnection(redisUrl);
await once(redis, 'ready');
const store = new Store({ redis, prefix: 'bench-http' });
await store.open();
const queues = new Queues(store);
const operator = new Operator({ store, queues, records: new Records(store) });
const { url } = await startApi({ store, queues, operator });
const { token } = await new ApiKeys(store).create({
  name: 'bench',
  roles: ['ingest'],
  by: 'bench',
});
process.send?.({ url, token } satisfies Serving);
