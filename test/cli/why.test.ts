import { describe, expect, test } from 'vitest';
import type { WhyCard } from '../../src/cli/why-card.ts';
import { ticket } from '../support/rig.ts';
import { playShop, waitingTurn } from './played-shop.ts';
import { runCli, runJson } from './run-cli.ts';

describe('why a turn stopped', () => {
  test('[S4-61] [S4-20] one sentence with the cause, then what was done, what not, whether it is safe, what to do', async () => {
    const { store, shop, accept, target, turnId } = await playShop();
    shop.blocked = true;
    await accept(ticket({ text: 'cancel my order' }));
    await target.arrived('note', 1);

    const card = await runJson<WhyCard>(['why', await turnId()], { store });
    const { stdout } = await runCli(['why', 'test/c1'], { store });

    expect(card).toMatchObject({
      state: 'ended',
      outcome: 'escalated',
      stopReason: 'verification_failed',
      sentence:
        'Stopped because cancel_order on order:1 was answered with "accepted", but the re-read said blocked after 1 re-read (over 0 ms).',
      safeToRunAgain: {
        answer: 'no',
        text: expect.stringContaining('cancel_order on order:1 (applied)') as string,
      },
    });
    expect(card.done[0]).toMatch(
      /^cancel_order on order:1: answered, not proven \(applied, operation x/,
    );
    expect(card.notDone).toContain('the message was not answered by the agent');
    expect(card.whatYouCanDo.length).toBeLessThanOrEqual(3);
    const headings = [
      'What was done',
      'What was not done',
      'Is it safe to run again',
      'What you can do',
    ];
    expect(stdout.split('\n').filter((line) => headings.includes(line))).toEqual(headings);
    expect(stdout.startsWith(card.sentence)).toBe(true);
  });

  test('a turn that waits for a person says so, with the commands that decide', async () => {
    const { store, approval } = await waitingTurn();

    const card = await runJson<WhyCard>(['why', 'test/c1'], { store });

    expect(card).toMatchObject({ turnId: approval.turnId, state: 'parked', outcome: null });
    expect(card.sentence).toMatch(
      /^Waiting for a person to decide on issue_refund on order:1\/refund: refund 2000 is above/,
    );
    expect(card.whatYouCanDo[1]).toBe(
      `Agree: turnkeeper approvals approve ${approval.id} --by <you>`,
    );
  });

  test('a message that no worker has taken yet says so', async () => {
    const { store, queues } = await playShop();
    await queues.inLane('turns', store.tags()[0] ?? '').pause();
    await store.acceptMessage(ticket({ conversationId: 'c7' }));

    const card = await runJson<WhyCard>(['why', 'test/c7'], { store });

    expect(card).toMatchObject({ turnId: null, state: 'not_started' });
    expect(card.sentence).toMatch(
      /^Not started: 1 message accepted and not taken by a worker yet, the oldest for /,
    );
  });

  test('an id nobody knows ends with 3, says what to do, and leaves stdout empty', async () => {
    const { store } = await playShop();

    const turn = await runCli(['why', 'no-such-turn'], { store });
    const conversation = await runCli(['why', 'test/nobody', '--json'], { store });

    expect([turn.code, turn.stdout, conversation.code, conversation.stdout]).toEqual([
      3,
      '',
      3,
      '',
    ]);
    expect(turn.stderr).toBe(
      'error: there is no turn no-such-turn\n  next: list them with "turnkeeper turns list"\n',
    );
    expect(JSON.parse(conversation.stderr)).toMatchObject({
      error: {
        code: 'not_found',
        message: 'there is no conversation test/nobody',
        retryable: false,
      },
    });
  });
});
