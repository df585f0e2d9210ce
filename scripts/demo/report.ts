import type { Step } from '../../examples/technova/agent/comparison.ts';
import { money } from '../../examples/technova/agent/shapes.ts';
import type { Output } from '../../src/cli/output.ts';
import { traceOf } from '../../src/cli/trace.ts';
import type { TurnStory } from '../../src/cli/turn-story.ts';
import { visible } from '../../src/cli/visible-text.ts';
import { whyCard } from '../../src/cli/why-card.ts';
import { clock, count, duration } from '../../src/cli/wording.ts';
import { GATE_THRESHOLD } from '../../src/retrieval/index.ts';
import type { Answer } from './answers.ts';
import type { ComparedRun, Comparison } from './compare.ts';
import type { Recovery } from './plug.ts';
import { OPERATOR } from './scenario.ts';
import type { Checked } from './stage.ts';
import { traceText } from './trace-text.ts';
import type { Difference, EffectResult, TicketResult, TurnResult } from './verdict.ts';

/** What was checked, with its value. */
export function reportChecks(out: Output, checked: readonly Checked[]): void {
  for (const { part, value, ok } of checked) {
    out.write(
      `  ${part.padEnd(14)} ${visible(value)}  ${ok ? out.mark('good', 'ok') : out.mark('bad', 'NOT AS IT SHOULD BE')}`,
    );
  }
}

type Row = TurnResult & { name: string; effects: readonly EffectResult[]; mark: string };

/** The table of outcomes: one row for each message that has a turn of its own. */
export function reportOutcomes(out: Output, tickets: readonly TicketResult[]): void {
  const rows = tickets.flatMap(({ id, followUps, effects, asExpected, ...first }): Row[] => [
    { ...first, name: id, effects, mark: asExpected ? 'as expected' : 'DIFFERS' },
    ...followUps.map((turn) => ({ ...turn, name: `  ${turn.id}`, effects: [], mark: '' })),
  ]);
  heading(out, 'Outcomes');
  out.list(rows, {
    id: ({ name }) => name,
    columns: [
      { title: 'TICKET', cell: ({ name }) => name },
      {
        title: 'ENDED',
        cell: ({ outcome, stopReason, phase }) =>
          outcome === null ? phase : `${outcome}/${stopReason}`,
      },
      { title: 'ROUNDS', cell: ({ rounds }) => rounds },
      { title: 'CALLS', cell: ({ toolCalls }) => toolCalls },
      { title: 'REPLIES', cell: ({ replies }) => replies },
      {
        title: 'TOOK',
        cell: ({ durationMs }) => (durationMs === null ? 'waits' : duration(durationMs)),
      },
      { title: 'FIXTURE', cell: ({ mark }) => mark },
      {
        title: "EFFECTS, TIMES DONE BY THE SHOP'S LOG",
        cell: ({ effects }) => effects.map(effectText).join(', '),
      },
    ],
    empty: 'No ticket was played.',
  });
}

function effectText({ tool, amount, status, applied }: EffectResult): string {
  const what = amount === null ? tool : `${tool} ${(amount / 100).toFixed(2)}`;
  return `${what} ${status} ${applied}x`;
}

export function reportTrace(out: Output, story: TurnStory, orderId: string): void {
  heading(out, `Trace of #${orderId}: what the tool said, and what the re-read said`);
  traceText(traceOf(story), out).forEach((line) => out.write(line));
}

export function reportRecovery(out: Output, recovery: Recovery, orderId: string): void {
  const { worker, pid, appliedAt, killedAt, answerSeen, resumedBy, resumedAfterMs, endedAfterMs } =
    recovery;
  const { refundRequests, effectsApplied } = recovery;
  const resumed =
    resumedAfterMs === null ? 'not resumed' : `resumed after ${duration(resumedAfterMs)}`;
  const ended =
    endedAfterMs === null
      ? 'the turn has not ended'
      : `the turn ended ${duration(endedAfterMs)} after the kill`;
  heading(out, 'The plug was pulled');
  out.write(
    `  ${clock(appliedAt)}  the order service refunded order ${orderId} and kept its answer back`,
  );
  out.write(
    `  ${clock(killedAt)}  ${worker} (pid ${pid}) killed with SIGKILL; ${answerSeen ? 'the answer arrived' : 'no answer ever arrived'}`,
  );
  if (resumedAfterMs !== null) {
    const found =
      refundRequests === 1
        ? 'the ledger said "sent, no answer", so the refund was re-read, not sent again'
        : `the refund was sent ${count(refundRequests, 'time')}`;
    out.write(
      `  ${clock(killedAt + resumedAfterMs)}  ${resumedBy ?? 'somebody'} took over: ${found}; ${ended}`,
    );
  }
  const log = `order service's log: ${count(refundRequests, 'refund request')}`;
  out.write(
    out.strong(
      `  worker killed at ${clock(killedAt)}, ${resumed}, effects applied: ${effectsApplied} (${log})`,
    ),
  );
}

type ComparedRow = { name: string; cells: readonly string[] };

export function reportComparison(
  out: Output,
  compared: Comparison,
  orderId: string,
  currency: string,
): void {
  const runs = [compared.naive, compared.safe, compared.naiveGuarded];
  const row = (name: string, cell: (run: ComparedRun) => string): ComparedRow => ({
    name,
    cells: runs.map(cell),
  });
  const onCall = (tool: string, tell: (step: Step) => string) => (run: ComparedRun) => {
    const step = run.steps.find((one) => one.tool === tool);
    return step === undefined ? 'not sent' : tell(step);
  };
  const rows = [
    row("the order service's own guard", ({ refundGuard }) => refundGuard),
    row(
      'cancel_order: the tool said',
      onCall('cancel_order', ({ toolSaid }) => toolSaid),
    ),
    row(
      'cancel_order: the re-read said',
      onCall('cancel_order', ({ rereadSaid }) => rereadSaid ?? 'nobody looked'),
    ),
    row(
      'issue_refund: the tool said',
      onCall('issue_refund', ({ toolSaid }) => toolSaid),
    ),
    row('paid, by the order service', ({ refunded }) => money(refunded, currency)),
    row('the order in the end', ({ orderStatus }) => orderStatus),
    row('how it ended', endText),
  ];
  heading(
    out,
    `Naive and safe on the same order #${orderId}; the shop accepts the cancellation and never gets round to it`,
  );
  out.list(rows, {
    id: ({ name }) => name,
    columns: [
      { title: '  ', cell: ({ name }) => `  ${name}` },
      ...['NAIVE', 'SAFE', 'NAIVE, GUARD ON'].map((title, index) => ({
        title,
        cell: ({ cells }: ComparedRow) => cells[index] ?? '',
      })),
    ],
    empty: '',
  });
  out.write(
    '  Naive takes "accepted" for "done" and pays; safe looks again first, and pays only for a cancelled order.',
  );
  out.write(
    '  A rule that lives only in a loop is bypassed by the next caller: the last word has the guard where the money is.',
  );
}

function endText({ outcome, stopReason, refusedBy, refunded }: ComparedRun): string {
  if (outcome !== null) return `${outcome}/${stopReason}`;
  if (refusedBy !== null) return `refused by the ${refusedBy}`;
  return refunded > 0 ? 'paid, and not cancelled' : 'nothing paid';
}

/** Questions the help pages answer, one for each way of showing sources, and the one they almost answer. */
export function reportAnswers(out: Output, answers: readonly Answer[]): void {
  const replied = answers.filter(({ stopReason }) => stopReason === 'replied');
  const unanswered = answers
    .filter(({ stopReason }) => stopReason === 'no_answer')
    .toSorted((a, b) => (b.best ?? 0) - (a.best ?? 0));
  const shown = [
    ...replied.filter((one, at) => replied.findIndex((o) => o.channel === one.channel) === at),
    ...unanswered.slice(0, 1),
  ];
  if (shown.length === 0) return;
  heading(out, 'Asked what no order can tell: said with its source, or not at all');
  for (const { question, channel, best, reply } of shown) {
    const score = best === null ? 'no passage' : `best passage ${best.toFixed(2)}`;
    const about = [...(channel === null ? [] : [channel]), `${score}, needed ${GATE_THRESHOLD}`];
    out.write(`  "${visible(question)}"  (${visible(about.join(': '))})`);
    for (const line of reply.split('\n').filter((one) => one !== '')) {
      out.write(`      ${visible(line)}`);
    }
  }
}

/** The ticket that is left waiting, and how somebody can look at it. */
export function reportWaiting(
  out: Output,
  id: string,
  story: TurnStory,
  redisUrl: string | undefined,
): void {
  const approvalId = story.turn.park?.approvalId ?? '';
  heading(out, `Left waiting for a person on purpose: ${id}`);
  out.write(`  ${visible(whyCard(story, Date.now()).sentence)}`);
  if (redisUrl === undefined) {
    out.write(
      '  Look at it: npm run demo -- --keep   (everything stays up until Ctrl-C, and you are the one who is asked)',
    );
    return;
  }
  const command = `REDIS_URL=${redisUrl} npm run -s turnkeeper -- approvals`;
  out.write(`  Look at it: ${command} show ${approvalId}`);
  out.write(`  Agree:      ${command} approve ${approvalId} --by <you>`);
}

export function reportEnd(
  out: Output,
  end: { differences: readonly Difference[]; tickets: number; tookMs: number; logs: string },
): void {
  const { differences, tickets, tookMs, logs } = end;
  out.write('');
  if (differences.length === 0) {
    const all = `All ${count(tickets, 'ticket')} ended as their fixtures say, judged by the store and the services' own logs`;
    out.write(
      out.mark('good', `${all}; ${OPERATOR} decided what needed a person. ${duration(tookMs)}.`),
    );
    return;
  }
  out.write(
    out.mark(
      'bad',
      `${count(differences.length, 'thing')} not as expected, after ${duration(tookMs)}:`,
    ),
  );
  for (const { about, expected, got } of differences) {
    out.write(visible(`  ${about}`));
    out.write(visible(`    expected  ${expected}`));
    out.write(visible(`    got       ${got}`));
  }
  out.write(`The step logs of the workers are in ${logs}`);
}

export function reportNext(out: Output): void {
  out.write('');
  out.write(
    'Next  npm run demo -- --kill-worker   a worker is killed while it pays; it is paid once',
  );
  out.write('      npm run -s turnkeeper -- up     Redis and a worker for your own agent');
  out.write('      README.md                       how to write one, and what else there is');
}

function heading(out: Output, text: string): void {
  out.write('');
  out.write(out.strong(text));
}
