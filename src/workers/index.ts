export { toolsOf, WorkerHost, type WorkerHostOptions } from './host.ts';
export { Reconciler } from './reconciler.ts';
export { sharedState } from './shared-state.ts';
