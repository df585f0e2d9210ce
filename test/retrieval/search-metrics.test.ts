import { expect, onTestFinished, test } from 'vitest';
import { scriptedModel } from '../../src/models/index.ts';
import { offlineReranker } from '../../src/retrieval/offline/offline-reranker.ts';
import { offlineEmbedder, type Reranker } from '../../src/retrieval/index.ts';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import { KnowledgeStore } from '../../src/store/knowledge.ts';
import { PrometheusMeter } from '../../src/telemetry/metrics/index.ts';
import { openDocuments } from '../../src/turnkeeper.ts';
import { startRig, ticket } from '../support/rig.ts';
import { markdown } from './support.ts';

const RETURNS = '# Returns\n\nUnused items can be returned within 30 days of delivery.\n';
const ANSWERED = 'Within how many days can unused items be returned?';
const UNANSWERED = 'Who won the football match last night?';

/** A worker with one document, whose model looks up what the customer wrote; answers one question after the other. */
async function asked(questions: readonly string[], reranker?: Reranker) {
  const meter = new PrometheusMeter();
  const rig = await startRig({
    model: scriptedModel(({ messages, rounds }) =>
      rounds.length > 0
        ? { kind: 'escalate', rationale: 'looked' }
        : {
            kind: 'tool_calls',
            calls: [
              {
                id: 'k',
                tool: 'search_knowledge',
                arguments: { question: messages[0]?.text ?? '' },
              },
            ],
          },
    ),
    knowledge: reranker === undefined ? {} : { reranker },
  });
  const store = new KnowledgeStore({ redis: rig.redis, prefix: rig.store.prefix });
  await indexFiles({ store, embedder: offlineEmbedder() }, [markdown('returns', RETURNS)]);
  const opened = await openDocuments(rig.agent, rig.store, meter);
  onTestFinished(() => opened?.close());
  await rig.startHost(opened?.host);
  for (const [index, text] of questions.entries()) {
    await rig.accept(ticket({ conversationId: `c${index}`, text }));
    await rig.target.arrived('note', index + 1);
  }
  return (await meter.text()).split('\n').filter((line) => line.startsWith('turnkeeper_knowledge'));
}

test('a worker counts what each of the three parts of a search made of a question, from zero on', async () => {
  const lines = await asked([ANSWERED, ANSWERED, UNANSWERED]);

  expect(lines).toEqual(
    expect.arrayContaining([
      'turnkeeper_knowledge_searches_total{gate_verdict="found"} 2',
      'turnkeeper_knowledge_searches_total{gate_verdict="no_result"} 1',
      'turnkeeper_knowledge_failures_total{search_part="retriever"} 0',
      'turnkeeper_knowledge_failures_total{search_part="reranker"} 0',
      'turnkeeper_knowledge_part_seconds_count{search_part="retriever"} 3',
      'turnkeeper_knowledge_part_seconds_count{search_part="reranker"} 3',
      'turnkeeper_knowledge_candidates_count 3',
      'turnkeeper_knowledge_cost_dollars_total 0',
      // Two of three passed: below 0.72 is only the one without an answer.
      'turnkeeper_knowledge_best_score_bucket{le="0.72"} 1',
      'turnkeeper_knowledge_best_score_count 3',
    ]),
  );
  expect(lines.join('\n')).not.toMatch(/returned|football|returns/i);
});

test('a part that throws is counted, and nothing comes to the gate', async () => {
  const { name } = offlineReranker();
  const broken: Reranker = { name, rerank: () => Promise.reject(new Error('down')) };

  const lines = await asked([ANSWERED], broken);

  expect(lines).toEqual(
    expect.arrayContaining([
      'turnkeeper_knowledge_failures_total{search_part="reranker"} 1',
      'turnkeeper_knowledge_failures_total{search_part="retriever"} 0',
      'turnkeeper_knowledge_part_seconds_count{search_part="reranker"} 1',
      'turnkeeper_knowledge_searches_total{gate_verdict="found"} 0',
      'turnkeeper_knowledge_best_score_count 0',
    ]),
  );
});
