export { acceptMessage } from './accept-message.ts';
export { planBatch, type PlanOptions } from './batch-plan.ts';
export { BatchControl, type BatchAnswer, type BatchStart } from './batch-run.ts';
export { Operator } from './operator.ts';
export { Reprocess, type BatchView, type ReprocessFilter } from './reprocess.ts';
export { childJobId, Queues } from './queues.ts';
