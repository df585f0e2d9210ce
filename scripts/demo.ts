import { enableCompileCache } from 'node:module';

// Kept between runs, for this process and for those it starts.
enableCompileCache();
const { runDemo } = await import('./demo/run.ts');
await runDemo(process.argv.slice(2));
