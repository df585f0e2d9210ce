import { describe, expect, onTestFinished, test } from 'vitest';
import { readWorld } from '../../examples/technova/agent/fixtures.ts';
import type { Claim, Limits, ProposalInput } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import {
  offlineEmbedder,
  type KnowledgeAnswer,
  type SupportJudge,
} from '../../src/retrieval/index.ts';
import { KnowledgeStore } from '../../src/store/knowledge.ts';
import { openDocuments } from '../../src/turnkeeper.ts';
import { startRig, ticket } from '../support/rig.ts';
import { startTechnova } from '../support/technova.ts';
import { Held, stopOf } from '../workers/waiting-shop.ts';
import { markdown } from './support.ts';

const QUESTION = 'Until when can unused items be returned?';
const RETURNS =
  '---\nurl: https://shop.example/returns\n---\n# Returns\n\n## How long\n\nUnused items can be returned within 30 days of delivery.';

/** An agent with one document, on the whole pipeline; `say` decides once it was searched. `evidence`: the best passage. */
async function answering(
  say: (evidence: string, view: View) => ProposalInput | Promise<ProposalInput>,
  options: {
    citationJudge?: SupportJudge;
    question?: string;
    limits?: Partial<Limits>;
  } = {},
) {
  const { citationJudge, question = QUESTION, limits } = options;
  const views: View[] = [];
  const model = scriptedModel((view) => {
    views.push(view);
    const found = resultIn(view);
    if (found === undefined) return search(question);
    return say(found.verdict === 'found' ? (found.passages[0]?.evidence ?? '') : '', view);
  });
  const menu = ['Look up an order'];
  const rig = await startRig({
    model,
    knowledge: citationJudge === undefined ? { menu } : { menu, citationJudge },
    ...(limits === undefined ? {} : { limits }),
  });
  const store = new KnowledgeStore({ redis: rig.redis, prefix: rig.store.prefix });
  const put = (text: string) =>
    indexFiles({ store, embedder: offlineEmbedder() }, [markdown('returns', text)]);
  await put(RETURNS);
  const opened = await openDocuments(rig.agent, rig.store);
  onTestFinished(() => opened?.close());
  await rig.startHost(opened?.host);

  const asked = async (channel?: string) => {
    await rig.accept(ticket({ text: question, ...(channel === undefined ? {} : { channel }) }));
    await rig.target.when(() => rig.target.sent.length > 0);
    const [turn] = await rig.records.turnsOf('test/c1');
    return { turn, replies: rig.target.of('reply'), objections: objectionsIn(views) };
  };
  const data = () => views.map(resultIn).findLast((found) => found !== undefined);
  return { rig, put, asked, data };
}

/** What the search of the turn answered. */
function resultIn(view: View): KnowledgeAnswer | undefined {
  const seen = view.rounds
    .flatMap(({ results }) => results)
    .find(({ tool }) => tool === 'search_knowledge');
  return seen?.result.kind === 'ok' ? (seen.result.observation.data as KnowledgeAnswer) : undefined;
}

const search = (question: string): ProposalInput => ({
  kind: 'tool_calls',
  calls: [{ id: 'k1', tool: 'search_knowledge', arguments: { question } }],
});
const finish = (reply: string, claims: readonly Claim[]): ProposalInput => {
  return { kind: 'finish_candidate', reply, claims: [...claims] };
};

/** What the model was told about its candidates, in the order it was told. */
function objectionsIn(views: readonly View[]): string[] {
  return (views.at(-1)?.rounds ?? []).flatMap(({ objection }) => objection ?? []);
}

const TRUE = 'Unused items can be returned within 30 days.';
const FALSE = 'Used items can be returned within 90 days.';

const ESTIMATE = { tokens: 100, costMicros: 1_000 };
const said = (supported: boolean) => ({
  supported,
  usage: { inputTokens: 60, outputTokens: 2, costMicros: 500 },
});

describe('[P8] a judge of citations', () => {
  const paid = async (supports: SupportJudge['supports'], costMicros: number) => {
    let calls = 0;
    const { asked } = await answering(
      (range) => finish(TRUE, [{ text: TRUE, evidence: [range] }]),
      {
        citationJudge: {
          estimate: () => ESTIMATE,
          supports: (...given) => {
            calls += 1;
            return supports(...given);
          },
        },
        limits: { costMicros },
      },
    );
    const { turn } = await asked();
    return { calls, reason: turn?.reason, spent: turn?.state.spent.costMicros };
  };
  const yes = () => Promise.resolve(said(true));
  const silent = () => Promise.reject(new Error('overloaded'));

  test('is paid from the accounts of the turn by what it used', async () => {
    expect(await paid(yes, 1_000)).toEqual({ calls: 1, reason: 'replied', spent: 500 });
  });

  test('that gave no answer is paid at its estimate', async () => {
    // Three candidates, and each is judged.
    expect(await paid(silent, 3_000)).toEqual({ calls: 3, reason: 'uncited_claim', spent: 3_000 });
  });

  test('is not asked when its estimate does not fit any more, and the claim stays out', async () => {
    expect(await paid(yes, 999)).toEqual({ calls: 0, reason: 'uncited_claim', spent: 0 });
    expect(await paid(silent, 2_999)).toEqual({ calls: 2, reason: 'uncited_claim', spent: 2_000 });
  });
});

describe('[S1-22] a claim with its source', () => {
  test.each([
    ['web', `${TRUE} ([Returns](https://shop.example/returns))`],
    ['email', `${TRUE} [1]\n\n[1] Returns, How long: https://shop.example/returns`],
    [undefined, `${TRUE} [1]\n\n[1] Returns, How long: https://shop.example/returns`],
  ])('is delivered on the channel %s as it shows sources', async (channel, expected) => {
    const { asked } = await answering((range) => finish(TRUE, [{ text: TRUE, evidence: [range] }]));

    const { turn, replies } = await asked(channel);

    expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(replies).toEqual([expected]);
  });
});

describe('[S1-22] [S1-23] a claim without a source that says it', () => {
  test('goes back to the model twice, then the reply goes without it', async () => {
    const { asked } = await answering((range) =>
      finish(`${TRUE} ${FALSE}`, [
        { text: TRUE, evidence: [range] },
        { text: FALSE, evidence: [range] },
      ]),
    );

    const { turn, replies, objections } = await asked();

    expect(objections).toEqual(Array(2).fill(expect.stringContaining(`does not say "${FALSE}"`)));
    expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(replies).toEqual([`${TRUE} [1]\n\n[1] Returns, How long: https://shop.example/returns`]);
  });

  test('and no other one: nothing is sent of it, the turn fails as uncited_claim', async () => {
    const { asked } = await answering((range) =>
      finish(FALSE, [{ text: FALSE, evidence: [range] }]),
    );

    const { turn, replies, objections } = await asked();

    expect(objections).toHaveLength(2);
    expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
    expect(replies.join('\n')).not.toContain('90');
  });

  test.each([
    ['a document nobody has', (range: string) => range.replace('returns', 'refunds')],
    ['a range outside of the document', (range: string) => range.replace(/\d+$/, '9999')],
    ['a passage that was not shown', (range: string) => range.replace(/#\d+/, '#0')],
    ['no place at all', () => 'doc:returns'],
  ])('is one that cites %s', async (_what, forged) => {
    const { asked } = await answering((range) =>
      finish(TRUE, [{ text: TRUE, evidence: [forged(range)] }]),
    );

    expect((await asked()).turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
  });

  test.each([
    ['the judge says no', () => Promise.resolve(said(false))],
    ['the judge gives no answer', () => Promise.reject(new Error('overloaded'))],
  ])('is one of which %s, whatever its words', async (_what, supports) => {
    const { asked } = await answering(
      (range) => finish(TRUE, [{ text: TRUE, evidence: [range] }]),
      { citationJudge: { estimate: () => ESTIMATE, supports } },
    );

    expect((await asked()).turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
  });

  test.each([
    ['the search instead of a passage', () => ['1.1'], 'has no evidence'],
    ['the search beside a passage', (range: string) => ['1.1', range], 'does not say'],
  ])('is one that cites %s', async (_what, evidence, told) => {
    const text = 'Within 30 days a broken phone is repaired or replaced for nothing.';
    const { asked } = await answering((range) =>
      finish(text, [{ text, evidence: evidence(range) }]),
    );

    const { turn, objections } = await asked();

    expect(objections).toEqual(Array(2).fill(expect.stringContaining(told)));
    expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
  });

  test('is a reply to what passages were found for that claims nothing', async () => {
    const { asked } = await answering(() => finish(FALSE, []));

    const { turn, objections } = await asked();

    expect(objections).toEqual(Array(2).fill(expect.stringContaining('claims nothing')));
    expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
  });

  test('takes its whole sentence with it; where no other claim is left then, nothing is sent of it', async () => {
    const and = `${TRUE.slice(0, -1)} and ${FALSE.toLowerCase()}`;
    const { asked } = await answering((range) =>
      finish(`${and} Anything else?`, [
        { text: TRUE.slice(0, -1), evidence: [range] },
        { text: FALSE.toLowerCase(), evidence: [range] },
      ]),
    );

    const { turn, replies } = await asked();

    expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
    expect(replies.join('\n')).not.toContain('days');
  });

  test('may be mended by the model once it is told', async () => {
    const { asked } = await answering((range, { rounds }) => {
      const text = rounds.at(-1)?.objection === undefined ? FALSE : TRUE;
      return finish(text, [{ text, evidence: [range] }]);
    });

    const { turn, replies } = await asked();

    expect(turn?.reason).toBe('replied');
    expect(replies[0]).toContain(TRUE);
  });
});

describe('[P12] [S4-33] a judge of citations that is still at it', () => {
  const judged = (held: Held, limits?: { deadlineMs: number }) =>
    answering((range) => finish(TRUE, [{ text: TRUE, evidence: [range] }]), {
      citationJudge: {
        supports: async (_claim, _quote, signal) => {
          await held.wait(signal ?? new AbortController().signal);
          return said(true);
        },
        estimate: () => ESTIMATE,
      },
      ...(limits === undefined ? {} : { limits }),
    });

  test.each([
    ['obeys', 'cancelled', 'stopped'],
    ['ignores', 'force_terminated', 'abandoned'],
  ] as const)(
    'when the turn is cancelled, and %s: it is told so and named, and nothing is sent',
    async (manner, reason, how) => {
      const held = new Held(manner);
      const { rig, asked } = await judged(held);
      const ended = asked();
      await held.begun;
      const { openTurn } = (await rig.records.conversation('test/c1')) ?? {};

      await new Operator(rig).cancel(openTurn ?? '', { by: 'ana', reason: 'enough' });
      const { turn, replies } = await ended;

      expect(turn).toMatchObject({ outcome: 'cancelled', reason });
      expect(stopOf(turn)).toMatchObject({ by: 'ana', running: ['citations'], how });
      expect(replies).toEqual([]);
    },
  );

  test('[P8] does not outlast the time of the turn', async () => {
    const { asked } = await judged(new Held('obeys'), { deadlineMs: 1_500 });

    const { turn, replies } = await asked();

    expect(turn).toMatchObject({ outcome: 'timed_out', reason: 'deadline' });
    expect(replies).toEqual([]);
  });
});

test('[S1-22] a document that changes between the search and the reply makes the citation fail; the new text can be cited', async () => {
  const shop = await answering(async (range, { rounds }) => {
    if (rounds.length === 1) await shop.put(RETURNS.replace('30 days', '14 days'));
    return finish(TRUE, [{ text: TRUE, evidence: [range] }]);
  });

  const { turn, objections } = await shop.asked();

  expect(objections[0]).toMatch(/the document has changed, it is [0-9a-f]+ now; search again/);
  expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
});

test('[S1-01] [S1-22] what stayed below the gate cannot be cited, whatever the record says was closest', async () => {
  const { asked, data } = await answering(
    (_range, view) => {
      const { closest = [] } = resultIn(view) as { closest?: { passage: string }[] };
      return finish(TRUE, [{ text: TRUE, evidence: [`doc:${closest[0]?.passage ?? ''}`] }]);
    },
    { question: 'Can students get a discount on lamps?' },
  );

  const { turn, objections } = await asked();

  expect(data()).toMatchObject({ verdict: 'no_result', closest: [{}] });
  expect(objections[0]).toContain('was not shown in this turn');
  expect(turn).toMatchObject({ outcome: 'failed', reason: 'uncited_claim' });
});

describe('[S1-01] [S1-24] the example, asked what its help pages do not say', () => {
  test.each([
    ['with a best score of 0.61', 'Can I also get a discount for teachers?', 0.61],
    ['with nothing near it', 'Which film should I watch tonight?', null],
  ])('%s, says what it can do instead', async (_what, text, best) => {
    const technova = await startTechnova(readWorld(), { documents: true });

    const turn = await technova.answer(text);

    expect(turn).toMatchObject({ outcome: 'completed', reason: 'no_answer' });
    expect(await technova.repliesIn()).toEqual([
      expect.stringContaining('I can look up an order, cancel one that has not been shipped'),
    ]);
    const [call] = turn.state.rounds[0]?.calls ?? [];
    const data = call?.result?.kind === 'ok' ? call.result.observation.data : undefined;
    expect(data).toMatchObject({ verdict: 'no_result' });
    if (best !== null) expect((data as { best: number }).best).toBeCloseTo(best, 2);
  });
});
