import type { Meter } from '../telemetry/metrics/index.ts';
import type { SearchStep } from './ports.ts';

/** Counts the steps of searches in the documents. Never what was asked, nor which document answered. */
export function searchMetrics(meter: Meter): (step: SearchStep) => void {
  const took = (search_part: 'retriever' | 'reranker', durationMs: number): void =>
    meter.observe('knowledge_part_seconds', { search_part }, durationMs / 1_000);
  return (step) => {
    switch (step.part) {
      case 'retriever':
        took(step.part, step.durationMs);
        meter.observe('knowledge_candidates', {}, step.candidates);
        meter.add('knowledge_cost_dollars_total', {}, step.costMicros / 1e6);
        break;
      case 'reranker':
        took(step.part, step.durationMs);
        break;
      case 'gate':
        meter.observe('knowledge_best_score', {}, step.best ?? 0);
        meter.add('knowledge_searches_total', { gate_verdict: step.verdict });
        break;
      case 'failure':
        took(step.of, step.durationMs);
        meter.add('knowledge_failures_total', { search_part: step.of });
        break;
      default:
        step satisfies never;
    }
  };
}
