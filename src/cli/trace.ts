import type { Command } from 'commander';
import { withRecords } from './connection.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { MissingLink } from './missing-links.ts';
import type { Output } from './output.ts';
import { LINE_KINDS, traceLines, type TraceLine } from './trace-lines.ts';
import { readStory, type TurnStory } from './turn-story.ts';
import { shorten, visible } from './visible-text.ts';
import { ownerNote, storyOfEnd, unheeded } from './why-card.ts';
import { clock, count, day, dollars, duration, iso, isoOrNull, listed } from './wording.ts';

/** The JSON of `trace`. */
export type Trace = {
  turnId: string;
  conversationId: string;
  phase: string;
  outcome: string | null;
  stopReason: string | null;
  startedAt: string;
  endedAt: string | null;
  durationMs: number | null;
  rounds: number;
  toolCalls: number;
  tokens: number;
  costMicros: number;
  /** Why it stopped, or where it stands. */
  why: string;
  /** Procedures it loaded, and in which version. */
  skills: { name: string; version: string }[];
  /** A stop that was not heeded, and who has the conversation if it is not the agent's. */
  notes: string[];
  lines: TraceLine[];
  /** Links the record should have and has not. */
  missing: MissingLink[];
};

export function addTrace(program: Command): void {
  program
    .command('trace')
    .description(
      'A turn line by line: what was seen, proposed, checked, called, answered and re-read.',
    )
    .argument('<turnId>', 'see "turnkeeper turns list"')
    .addHelpText('after', '\nEnds with 6 when the record has a gap that no lost worker explains.')
    .action((turnId: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => trace(invocation, turnId)),
    );
}

async function trace({ settings, out }: Invocation, turnId: string): Promise<ExitCode> {
  const story = await withRecords(settings, ({ records }) => readStory(records, turnId));
  const traced = traceOf(story);
  out.card(traced, {
    id: (one) => one.turnId,
    rows: (one) => withMissing(one),
    text: (one) => traceText(one, out),
  });
  return traced.missing.some((link) => !link.explained) ? EXIT.findings : EXIT.ok;
}

export function traceOf(story: TurnStory): Trace {
  const { turn, replayed, missing } = story;
  const { spent, rounds } = replayed.state;
  return {
    turnId: turn.turnId,
    conversationId: turn.conversationId,
    phase: turn.phase,
    outcome: turn.outcome,
    stopReason: turn.reason,
    startedAt: iso(turn.startedAt),
    endedAt: isoOrNull(turn.endedAt),
    durationMs: turn.endedAt === null ? null : turn.endedAt - turn.startedAt,
    rounds: rounds.length,
    toolCalls: spent.toolCalls,
    tokens: spent.tokens,
    costMicros: spent.costMicros,
    why: storyOfEnd(story).sentence,
    skills: [...replayed.state.skills],
    notes: [...unheeded(story), ...ownerNote(story)],
    lines: [...traceLines(turn, replayed), ...untakenDecision(story)],
    missing: [...missing],
  };
}

/** A decision the parked turn has not taken in yet: it stands in the approval's own record. */
function untakenDecision({ turn, replayed, approvals }: TurnStory): TraceLine[] {
  const approval = approvals.find((one) => one.id === turn.park?.approvalId);
  if (approval === undefined || approval.status === 'pending') return [];
  return [
    {
      ...{
        event: replayed.steps.length,
        at: iso(approval.decidedAt),
        phase: turn.phase,
        kind: 'approval',
      },
      text: `${approval.status} by ${approval.by} (the turn takes it in when it wakes)`,
    },
  ];
}

/** The lines with each gap where it is. */
function withMissing({ lines, missing }: Trace): TraceLine[] {
  const gaps = missing.map(({ after, text, explained }): TraceLine => {
    const cause = explained ? ' (its worker was lost)' : '';
    return { event: after, at: null, kind: 'missing', phase: null, text: `${text}${cause}` };
  });
  const all = [...lines, ...gaps];
  // A gap comes behind every line of the event it follows.
  return all.toSorted(
    (a, b) => a.event - b.event || Number(a.kind === 'missing') - Number(b.kind === 'missing'),
  );
}

const TEXT_SHOWN = 400;

function traceText(traced: Trace, out: Output): string {
  const { turnId, conversationId, outcome, stopReason, phase, durationMs, missing } = traced;
  const status = outcome === null ? phase : `${outcome}/${stopReason}`;
  const lasted = durationMs === null ? 'not ended' : duration(durationMs);
  const unexplained = missing.filter((link) => !link.explained).length;
  return [
    out.strong(`turn ${visible(turnId)}  ${visible(conversationId)}  ${status}`),
    `started ${day(Date.parse(traced.startedAt))}, ${lasted}, ${count(traced.rounds, 'round')}, ` +
      `${count(traced.toolCalls, 'tool call')}, ${count(traced.tokens, 'token')}, ${dollars(traced.costMicros)}`,
    '',
    ...withMissing(traced).map((line) => lineText(line, out)),
    '',
    visible(traced.why),
    ...skillLine(traced),
    ...traced.notes.map(visible),
    missing.length === 0
      ? 'Record: complete, no link is missing.'
      : `Record: ${count(missing.length, 'link')} missing, ${unexplained} of them unexplained.`,
  ].join('\n');
}

function skillLine({ skills }: Trace): string[] {
  if (skills.length === 0) return [];
  return [
    visible(`Procedures: ${listed(skills.map(({ name, version }) => `${name} ${version}`))}`),
  ];
}

function lineText(line: TraceLine, out: Output): string {
  const number = String(line.event).padStart(3);
  const time = line.at === null ? ''.padEnd(13) : clock(Date.parse(line.at));
  const kind = LINE_KINDS[line.kind].padEnd(13);
  const marked = { missing: 'bad', reread_said: 'good', tool_said: 'attention' } as const;
  const label =
    line.kind in marked ? out.mark(marked[line.kind as keyof typeof marked], kind) : kind;
  const phase = (line.phase ?? '').padEnd(21);
  const took = line.latencyMs === undefined ? '' : ` [${duration(line.latencyMs)}]`;
  return `${number}  ${time}  ${label}  ${phase}  ${shorten(visible(line.text), TEXT_SHOWN)}${took}`;
}
