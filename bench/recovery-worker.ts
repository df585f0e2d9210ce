import { Pipeline } from './rig/pipeline.ts';
import { benchAgent } from './rig/workload.ts';

/** What a worker process tells the one that kills it. After `model` and `tool` it waits for an answer. */
export type Report = { at: 'ready' | 'model' | 'tool' | 'committed' };

function report(at: Report['at']): void {
  process.send?.({ at } satisfies Report);
}

/** A whole worker host that stops inside each model call and each tool call until it is told to go on. */
const [redisUrl = '', prefix = ''] = process.argv.slice(2);
const waiting: (() => void)[] = [];
process.on('message', () => waiting.shift()?.());
process.on('disconnect', () => process.exit());

const pipeline = await Pipeline.open({
  redisUrl,
  prefix,
  agent: benchAgent('read', (at) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    report(at);
    return promise;
  }),
  concurrency: 10,
  duties: 'all',
  onCommit: () => report('committed'),
});
await pipeline.startWorkers();
report('ready');
