import type { Command } from 'commander';
import { ticketMessageSchema } from '../contracts/index.ts';
import { ApiKeys, ROLES, type ApiKey, type NewApiKey, type Role } from '../store/api-keys.ts';
import { audited } from './audit.ts';
import { withRecords } from './connection.ts';
import { notFound, usageError } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { ListView } from './output.ts';
import { visible } from './visible-text.ts';
import { wholeNumber } from './whole-number.ts';
import { day, iso, isoOrNull } from './wording.ts';

type Who = { by: string; reason: string; dryRun?: boolean };
type Wanted = Who & {
  name: string;
  role: Role[];
  source?: string;
  perMinute?: number;
  expiresIn?: number;
};

const DAY_MS = 86_400_000;

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('Who may use the HTTP service, and for what.');
  const change = (verb: string, description: string): Command =>
    keys
      .command(verb)
      .description(description)
      .requiredOption('--by <name>', 'who does it; kept in the audit log')
      .requiredOption('--reason <text>', 'why; kept in the audit log')
      .option('--dry-run', 'shows what would be done, and does nothing');
  change('create', 'Makes a key. Its token is printed this once; -q prints nothing else.')
    .requiredOption('--name <name>', 'whose key it is; stands as "who" in the audit log')
    .requiredOption('--role <role>', `${ROLES.join(', ')}; may be given several times`, addRole, [])
    .option('--source <source>', 'the only source it may see and serve')
    .option('--per-minute <n>', 'requests a minute; default 60000', wholeNumber(1_000_000))
    .option('--expires-in <days>', 'days until it ends by itself', wholeNumber(3_650))
    .action((wanted: Wanted, command: Command) =>
      perform(command, (invocation) => create(invocation, wanted)),
    );
  keys
    .command('list')
    .description('All keys there ever were, the newest first.')
    .action((_options: unknown, command: Command) => perform(command, list));
  change('revoke', 'Takes a key away. Every process refuses it within five seconds.')
    .argument('<id>', 'as in "keys list", or how the token begins')
    .action((id: string, who: Who, command: Command) =>
      perform(command, (invocation) => revoke(invocation, id.replace(/^tk_/, ''), who)),
    );
}

function addRole(word: string, before: Role[]): Role[] {
  const role = ROLES.find((one) => one === word);
  if (role === undefined) {
    throw usageError(`--role is ${JSON.stringify(word)}: must be one of ${ROLES.join(', ')}`);
  }
  return [...before, role];
}

async function create({ settings, out }: Invocation, wanted: Wanted): Promise<void> {
  const { name, role: roles, source, perMinute, expiresIn, by, reason, dryRun } = wanted;
  checkWho(wanted);
  if (name.trim() === '') throw usageError('--name is empty: say whose key it is');
  const named = ticketMessageSchema.shape.source.optional().safeParse(source);
  if (!named.success) {
    const expected = named.error.issues[0]?.message ?? '';
    throw usageError(`--source is ${JSON.stringify(source)}: ${expected}`);
  }
  if (dryRun === true) {
    const text = visible(`would make a key for ${name} with ${roles.join(', ')}; nothing was done`);
    return out.card({ name, roles, dryRun: true }, { id: () => '', text: () => text });
  }
  const { key, token } = await withRecords(settings, async (connected) => {
    const { store } = connected;
    const expiresAt =
      expiresIn === undefined ? undefined : store.clock().now() + expiresIn * DAY_MS;
    const full: NewApiKey = {
      ...{ name, roles, by },
      ...(source === undefined ? {} : { source }),
      ...(perMinute === undefined ? {} : { perMinute }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    };
    const act = { action: 'key.create', object: `${name}: ${roles.join(', ')}`, by, reason };
    return audited(connected, act, async () => ({
      kind: 'created',
      ...(await new ApiKeys(store).create(full)),
    }));
  });
  const lines = [
    visible(`key ${key.id} for ${name}: ${roles.join(', ')}`),
    `  ${token}`,
    'Keep it now: it is shown this once. Send it as "Authorization: Bearer <token>".',
  ];
  out.card({ ...viewOf(key), token }, { id: () => token, text: () => lines.join('\n') });
}

const VIEW: ListView<ReturnType<typeof viewOf>> = {
  id: (row) => row.id,
  columns: [
    { title: 'KEY', cell: (row) => row.id },
    { title: 'BEGINS', cell: (row) => row.prefix },
    { title: 'NAME', cell: (row) => row.name },
    { title: 'ROLES', cell: (row) => row.roles.join(', ') },
    { title: 'SOURCE', cell: (row) => row.source ?? 'all' },
    { title: 'A MINUTE', cell: (row) => row.perMinute },
    { title: 'STATE', cell: (row) => stateOf(row) },
  ],
  empty:
    'There is no key yet: nobody can use the HTTP service. Make one with "turnkeeper keys create".',
};

async function list({ settings, out }: Invocation): Promise<void> {
  const keys = await withRecords(settings, ({ store }) => new ApiKeys(store).list());
  out.list(keys.map(viewOf), VIEW);
}

async function revoke({ settings, out }: Invocation, id: string, who: Who): Promise<void> {
  checkWho(who);
  const { by, reason, dryRun } = who;
  await withRecords(settings, async (connected) => {
    const keys = new ApiKeys(connected.store);
    const known = await keys.find(id);
    if (known === undefined) throw notFound('key', id, 'list them with "turnkeeper keys list"');
    if (dryRun === true) {
      const text = visible(`would revoke the key of ${known.name}; nothing was done`);
      return out.card({ ...viewOf(known), dryRun: true }, { id: () => id, text: () => text });
    }
    const act = { action: 'key.revoke', object: id, by, reason };
    await audited(connected, act, async () => ({ kind: await keys.revoke(id, by) }));
    const key = (await keys.find(id)) ?? known;
    const text = visible(
      `key ${id} of ${key.name} ${stateOf(viewOf(key))} by ${key.revokedBy ?? by}`,
    );
    return out.card(viewOf(key), { id: () => id, text: () => text });
  });
}

function checkWho({ by, reason }: Who): void {
  if (by.trim() === '') throw usageError('--by is empty: say who does this, for example --by ana');
  if (reason.trim() === '') throw usageError('--reason is empty: say why');
}

function viewOf(key: ApiKey) {
  const { id, name, roles, createdBy } = key;
  return {
    ...{ id, prefix: `tk_${id}`, name, roles },
    source: key.source ?? null,
    perMinute: key.perMinute ?? null,
    createdAt: iso(key.createdAt),
    createdBy,
    expiresAt: isoOrNull(key.expiresAt),
    revokedAt: isoOrNull(key.revokedAt),
    revokedBy: key.revokedBy ?? null,
  };
}

function stateOf({ revokedAt, expiresAt }: ReturnType<typeof viewOf>): string {
  if (revokedAt !== null) return `revoked ${day(Date.parse(revokedAt))}`;
  if (expiresAt === null) return 'valid';
  const end = Date.parse(expiresAt);
  return end <= Date.now() ? `expired ${day(end)}` : `valid until ${day(end)}`;
}
