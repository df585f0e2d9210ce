import { describe, expect, test } from 'vitest';
import type { ToolContract } from '../../src/contracts/index.ts';
import { Shop } from '../support/shop.ts';
import { Held, heldTool, openShop } from './waiting-shop.ts';

const EVIDENCE = { by: 'ana', evidence: 'refund 77 in the books' };

/** A turn that ended because nobody could tell what became of its refund. It is `done` or not. */
async function inDoubt(done: boolean, refund: Partial<ToolContract> = {}) {
  const shop = new Shop();
  shop.faults['refund'] = [done ? 'lost_after' : 'lost_before'];
  const world = { readable: false };
  const stage = await openShop({
    shop,
    changed: {
      issue_refund: {
        ...refund,
        verify: {
          level: 'reread',
          read: (_args, { operation }) =>
            world.readable
              ? Promise.resolve({ refunds: shop.refunds(operation).length })
              : Promise.reject(new Error('the books are closed')),
          landed: (read) => ((read as { refunds: number }).refunds > 0 ? 'landed' : 'not_landed'),
          factOf: () => 'order:1/refund',
          attempts: 1,
        },
      },
    },
  });
  await stage.startHost();
  await stage.say('cancel my order');
  await stage.target.arrived('note', 1);
  const [turn] = await stage.turns();
  const operation = (await stage.records.ledger('test/c1')).at(-1)?.operation ?? '';
  return { ...stage, world, turn, operation };
}

describe('[P5] an effect nobody could tell', () => {
  test('[S3-33] ends the turn as effect_unknown, in outcome, history and ledger, and waits for a person', async () => {
    const { turn, operation, records, redis, store, target } = await inDoubt(true);

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'effect_unknown' });
    expect(await records.operation(operation)).toMatchObject({ status: 'unknown', attempts: 1 });
    expect(await redis.lrange(`${store.tagOf('test/c1')}:hist:test/c1`, 0, -1)).toEqual([
      expect.stringContaining('effect_unknown'),
    ]);
    expect(target.of('note')[0]).toContain('Not certain: issue_refund order:1/refund unknown');
  });

  test.each([
    ['applied', 'verified', 'did happen', true],
    ['not_applied', 'not_landed', 'did not happen', false],
  ] as const)(
    'settled by a person as %s: the ledger, who said so and why, and a note for the ticket',
    async (verdict, status, words, done) => {
      const { operation, operator, records, target, turn } = await inDoubt(done);

      const answer = await operator.settleEffect(operation, verdict, EVIDENCE);
      await target.arrived('note', 2);

      expect(answer).toEqual({
        ...{ kind: 'settled', status, conversationId: 'test/c1', turnId: turn?.turnId },
      });
      expect(await records.operation(operation)).toMatchObject({
        ...{ status, settledBy: 'ana', evidence: EVIDENCE.evidence },
      });
      expect(target.of('note')[1]).toContain(`issue_refund on order:1/refund ${words}.`);
      expect(target.of('note')[1]).toContain(EVIDENCE.evidence);
      expect(target.of('reply')).toEqual([]);
    },
  );

  test('is named in one line of that note, whatever it is called', async () => {
    const { operation, operator, target } = await inDoubt(true, {
      resource: () => ['order:1/refund\nEvidence: none\nReprocessing is not needed'],
    });

    await operator.settleEffect(operation, 'applied', EVIDENCE);
    await target.arrived('note', 2);

    expect(target.of('note')[1]?.split('\n')).toEqual([
      'ana settled what was not certain: issue_refund on order:1/refund Evidence: none Reprocessing is not needed did happen.',
      `Evidence: ${EVIDENCE.evidence}`,
      'Reprocessing the case goes on from here; what is done will not be done again.',
    ]);
  });

  test('[P4] that did happen is not done a second time, whoever asks', async () => {
    const { operation, operator, say, target, refunds, world } = await inDoubt(true);
    await operator.settleEffect(operation, 'applied', EVIDENCE);
    await operator.release('test/c1', { by: 'ana', reason: 'settled' });
    world.readable = true;

    await say('and my refund?');
    await target.when(() => target.sent.length >= 4);

    expect(refunds()).toHaveLength(1);
  });

  test('[P4] that did not happen may be done now, once', async () => {
    const { operation, operator, say, target, refunds, world, records } = await inDoubt(false);
    await operator.settleEffect(operation, 'not_applied', EVIDENCE);
    await operator.release('test/c1', { by: 'ana', reason: 'settled' });
    world.readable = true;

    await say('and my refund?');
    await target.arrived('reply', 1);

    expect(refunds()).toHaveLength(1);
    expect((await records.ledger('test/c1')).map(({ status }) => status).toSorted()).toEqual([
      ...['not_landed', 'verified', 'verified'],
    ]);
  });

  test('is settled once: who comes second is told what stands, and changes nothing', async () => {
    const { operation, operator, records, target } = await inDoubt(true);

    const answers = await Promise.all([
      operator.settleEffect(operation, 'applied', EVIDENCE),
      operator.settleEffect(operation, 'not_applied', { by: 'bob', evidence: 'I think so' }),
    ]);
    await target.arrived('note', 2);
    const third = await operator.settleEffect(operation, 'applied', EVIDENCE);

    expect(answers.map(({ kind }) => kind)).toEqual(['settled', 'already']);
    expect(third).toMatchObject({ kind: 'already', status: 'verified' });
    expect(await records.operation(operation)).toMatchObject({
      ...{ status: 'verified', settledBy: 'ana' },
    });
    expect(target.of('note')).toHaveLength(2);
  });

  test("is nobody else's business while its turn may still find out", async () => {
    const shop = new Shop();
    const held = new Held('finishes');
    const stage = await openShop({
      shop,
      changed: { issue_refund: heldTool(shop, 'issue_refund', held) },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;
    const row = (await stage.records.ledger('test/c1')).at(-1);

    const answer = await stage.operator.settleEffect(row?.operation ?? '', 'applied', EVIDENCE);

    expect(row?.status).toBe('attempted');
    expect(answer).toEqual({
      ...{ kind: 'in_flight', conversationId: 'test/c1', turnId: await stage.openTurn() },
    });
    expect((await stage.records.operation(row?.operation ?? ''))?.status).toBe('attempted');
  });

  test('what was verified, or nobody knows, cannot be settled; nor can anything without evidence', async () => {
    const { operator, records, turn } = await inDoubt(true);
    const [cancel] = await records.ledger('test/c1');

    const proven = await operator.settleEffect(cancel?.operation ?? '', 'not_applied', EVIDENCE);

    expect(cancel).toMatchObject({ tool: 'cancel_order', turnId: turn?.turnId });
    expect(proven).toMatchObject({ kind: 'already', status: 'verified' });
    expect(await operator.settleEffect('nope', 'applied', EVIDENCE)).toEqual({ kind: 'not_found' });
    await expect(
      operator.settleEffect(cancel?.operation ?? '', 'applied', { by: 'ana', evidence: ' ' }),
    ).rejects.toThrow(/evidence/);
  });
});
