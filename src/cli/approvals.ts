import type { Command } from 'commander';
import { approvalView, type ApprovalView } from './approval-view.ts';
import { withRecords } from './connection.ts';
import { decide, type Decision } from './decide-approval.ts';
import { notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { ListView, Output } from './output.ts';
import { revealed } from './look-alikes.ts';
import { visible } from './visible-text.ts';
import { wholeNumber } from './whole-number.ts';
import { day, duration } from './wording.ts';

export function addApprovals(program: Command): void {
  const approvals = program.command('approvals').description('What waits for the yes of a person.');
  approvals
    .command('list')
    .description('Requests nobody has decided yet, soonest expiry first.')
    .option('--limit <n>', 'how many at most', wholeNumber(1_000), 100)
    .action((options: { limit: number }, command: Command) =>
      perform(command, (invocation) => list(invocation, options.limit)),
    );
  approvals
    .command('show')
    .description(
      'One request: the frozen action, why a person is asked, what the world looked like.',
    )
    .argument('<id>')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => show(invocation, id)),
    );
  const decision = (verb: 'approve' | 'reject', description: string): Command =>
    approvals
      .command(verb)
      .description(description)
      .argument('<id>')
      .requiredOption('--by <name>', 'who decides; kept in the record')
      .option('--dry-run', 'shows what would be decided, and decides nothing');
  decision('approve', 'Lets the frozen action run. Its checks are made again first.')
    .option('--reason <text>', 'kept in the record')
    .action((id: string, options: Decision, command: Command) =>
      perform(command, (invocation) => decide(invocation, id, 'approved', options)),
    );
  decision('reject', 'Ends the turn; a person takes the conversation over.')
    .requiredOption('--reason <text>', 'kept in the record and in the note to the ticket')
    .action((id: string, options: Decision, command: Command) =>
      perform(command, (invocation) => decide(invocation, id, 'rejected', options)),
    );
}

const VIEW: ListView<ApprovalView> = {
  id: (row) => row.id,
  columns: [
    { title: 'APPROVAL', cell: (row) => row.id },
    { title: 'ACTION', cell: (row) => `${row.tool} ${JSON.stringify(row.arguments)}` },
    { title: 'WHY', cell: (row) => row.reason },
    { title: 'CONVERSATION', cell: (row) => row.conversationId },
    { title: 'EXPIRES IN', cell: (row) => duration(Date.parse(row.expiresAt) - Date.now()) },
  ],
  empty: 'Nothing is waiting for a person.',
};

async function list({ settings, out }: Invocation, limit: number): Promise<void> {
  const pending = await withRecords(settings, ({ records }) => records.pendingApprovals(limit));
  out.list(pending.map(approvalView), VIEW);
}

async function show({ settings, out }: Invocation, id: string): Promise<void> {
  const approval = await withRecords(settings, ({ records }) => records.approval(id));
  if (approval === undefined)
    throw notFound('approval', id, 'list them with "turnkeeper approvals list"');
  out.card(approvalView(approval), { id: (one) => one.id, text: (one) => cardText(one, out) });
}

function cardText(approval: ApprovalView, out: Output): string {
  const { id, status, tool, reason, seen, by, decidedAt, comment, conversationId, turnId } =
    approval;
  const said = comment === null ? '' : `, ${comment}`;
  const decided = by === null ? [] : [`Decided: ${status} by ${by} at ${decidedAt}${said}`];
  const before = [
    `The agent wants to run ${tool} ${JSON.stringify(approval.arguments)}`,
    'This and nothing else runs after a yes. Where each value came from:',
    ...valueLines(approval).map((line) => `  ${line}`),
  ];
  const after = [
    `Why a person is asked: ${reason} (policy ${approval.policy ?? 'not on record'})`,
    `What it saw: ${JSON.stringify(seen)}`,
    `Asked for ${day(Date.parse(approval.requestedAt))}, expires ${day(Date.parse(approval.expiresAt))}`,
    ...decided,
    `Conversation ${conversationId}, turn ${turnId}, operation ${approval.operation}`,
  ];
  const commands = [
    '',
    `Agree:  turnkeeper approvals approve ${id} --by <you>`,
    `Refuse: turnkeeper approvals reject ${id} --by <you> --reason <why>`,
  ];
  return [
    out.strong(`approval ${visible(id)}  ${status}`),
    ...before.map(revealed),
    ...warning(approval, out),
    ...after.map(revealed),
    ...(status === 'pending' ? commands.map(visible) : []),
  ].join('\n');
}

function valueLines({ arguments: args, origins }: ApprovalView): string[] {
  if (typeof args !== 'object' || args === null) return [];
  return Object.entries(args).map(
    ([name, value]) => `${name} = ${JSON.stringify(value)}: ${originText(origins, name)}`,
  );
}

const ORIGINS: Readonly<Record<string, string>> = {
  customer: 'the customer wrote it',
  model: 'free text of the model',
  policy: 'the contract of the tool says what it may be',
  observations: 'computed from what was observed',
};

function originText(origins: ApprovalView['origins'], name: string): string {
  if (origins === null || !Object.hasOwn(origins, name)) return 'not on record';
  const origin = origins[name] ?? null;
  if (origin === null) return 'NOBODY CAN TELL';
  return ORIGINS[origin] ?? `observed, ${origin}`;
}

function warning({ lookAlikes }: ApprovalView, out: Output): string[] {
  if (lookAlikes.length === 0) return [];
  const words = lookAlikes.map(visible).join(', ');
  return [
    out.mark('bad', `Careful: letters that look like others, written as their numbers: ${words}`),
  ];
}
