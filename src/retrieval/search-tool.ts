import { z } from 'zod';
import type { ToolContract } from '../contracts/index.ts';
import { canonicalJson } from '../loop/index.ts';
import { defineTool, MAX_OBSERVATION_BYTES, ToolUnavailable } from '../tools/index.ts';
import { citationOf, placeOf } from './cite.ts';
import type { Knowledge } from './knowledge.ts';
import type { Ranked } from './ports.ts';

export const SEARCH_TOOL = 'search_knowledge';

const scoresSchema = z.object({
  /** Cosine of question and passage; null where only words found it. */
  vector: z.number().nullable(),
  /** BM25; null where only vectors found it. */
  lexical: z.number().nullable(),
  rerank: z.number(),
});
const passageSchema = z.object({
  /** What a claim cites: `doc:<id>@<version>#<start>-<end>`. */
  evidence: z.string(),
  title: z.string(),
  heading: z.string(),
  text: z.string(),
  scores: scoresSchema,
});
/** A passage that was looked at and not shown: for the record, without its text and not in the form of evidence. */
const passedOver = z.object({ passage: z.string(), scores: scoresSchema });

/** What the search answers. */
export const knowledgeAnswerSchema = z.discriminatedUnion('verdict', [
  z.object({ verdict: z.literal('found'), passages: z.array(passageSchema).min(1) }),
  z.object({
    verdict: z.literal('no_result'),
    /** The best score there was, 0 to 1; null when nothing was found at all. */
    best: z.number().nullable(),
    /** The reply: what the agent can still do. */
    menu: z.array(z.string()).min(1),
    closest: z.array(passedOver),
  }),
]);
export type KnowledgeAnswer = z.infer<typeof knowledgeAnswerSchema>;

/** Passages named in a result without an answer. */
const CLOSEST = 3;

/** The read by which a model looks into the documents. Only agents that have documents get it. */
export function searchKnowledge(knowledge: Pick<Knowledge, 'search' | 'menu'>): ToolContract {
  return defineTool({
    name: SEARCH_TOOL,
    description: {
      use:
        'Looks up policies and product facts in the documents. Ask one question in plain words. Cite the evidence of the ' +
        'passage for every claim taken from it. With verdict no_result, reply with the menu and finish as no_answer.',
      avoid: 'facts about an order or a customer: other tools read those.',
    },
    input: z.object({ question: z.string().min(3).max(500) }),
    output: knowledgeAnswerSchema,
    effect: 'read',
    reversible: true,
    // None: what a document says is text to quote, and becomes no fact of the conversation.
    resource: () => [],
    provenance: { question: 'model' },
    failureModes: ['error_status', 'times_out'],
    authorize: () => undefined,
    async run({ question }, { signal }): Promise<KnowledgeAnswer> {
      const { passages, ranked } = await knowledge
        .search(question, signal)
        .catch((error: unknown) => {
          throw new ToolUnavailable(
            'knowledge_unavailable',
            'the documents cannot be searched now',
            {
              cause: error,
            },
          );
        });
      if (passages.length > 0) return { verdict: 'found', passages: fitting(passages) };
      return {
        verdict: 'no_result',
        best: ranked[0]?.rerankScore ?? null,
        menu: [...knowledge.menu()],
        closest: ranked
          .slice(0, CLOSEST)
          .map((one) => ({ passage: placeOf(one), scores: scoresOf(one) })),
      };
    },
  });
}

/** As many of the best as an observation holds whole: a passage that was cut could not be cited. */
function fitting(passages: readonly Ranked[]): z.infer<typeof passageSchema>[] {
  const shown: z.infer<typeof passageSchema>[] = [];
  for (const passage of passages) {
    const { title, heading, text } = passage;
    const next = [
      ...shown,
      { evidence: citationOf(passage), title, heading, text, scores: scoresOf(passage) },
    ];
    const bytes = Buffer.byteLength(canonicalJson({ verdict: 'found', passages: next }));
    if (bytes > MAX_OBSERVATION_BYTES && shown.length > 0) break;
    shown.push(...next.slice(-1));
  }
  return shown;
}

function scoresOf({
  vectorScore,
  lexicalScore,
  rerankScore,
}: Ranked): z.infer<typeof scoresSchema> {
  return { vector: vectorScore, lexical: lexicalScore, rerank: rerankScore };
}
