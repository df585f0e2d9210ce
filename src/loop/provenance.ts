import type { Facts, ToolContract } from '../contracts/index.ts';
import type { ClaimedTurn } from './ports.ts';
import { allCalls, type TurnState } from './state.ts';

/**
 * Where the value of an argument came from: `customer`, `model`, `policy`, or the field that holds it, such as
 * `get_order (1.1) total`. `null`: it cannot be traced to where it must come from.
 */
export type Origin = { argument: string; from: string | null };

type Known = {
  state: TurnState;
  facts: Facts;
  claimed: Pick<ClaimedTurn, 'messages' | 'history'>;
  /** JSON Schema of the arguments. */
  parameters: Readonly<Record<string, unknown>>;
};
type Field = {
  value: unknown;
  where: string;
  /** A digest of ours: nobody can choose it, so it may stand under any name. */
  ours?: true;
  /** It was asked for by this very value: the answer repeats what the model chose, and does not vouch for the choice. */
  asked?: boolean;
};

/**
 * Traces each value of a call. Free text never vouches for a value: what must come from an observation has to be the
 * whole of one of its fields, so that a note inside an order cannot fill a recipient in. What a customer may name they have
 * to have named, or a field shows it that nobody asked for by it.
 */
export function originsOf(
  contract: ToolContract,
  args: Readonly<Record<string, unknown>>,
  known: Known,
): Origin[] {
  const fields = observedFields(known);
  return Object.entries(args).flatMap(([argument, value]): Origin[] => {
    if (value === undefined || value === null || value === '') return [];
    const source = contract.provenance[argument] ?? 'authoritative';
    if (source === 'model' || source === 'policy') return [{ argument, from: source }];
    if (typeof source === 'object' && 'of' in source) {
      const allowed = source.of(args, known.facts);
      return [{ argument, from: allowed.some((one) => same(one, value)) ? 'observations' : null }];
    }
    const named = typeof source === 'object' ? source.field : undefined;
    const from = fields.filter((field) =>
      named !== undefined
        ? isNamed(named, field)
        : source === 'customer'
          ? field.asked !== true
          : isCalled(argument, field),
    );
    const observed = leaves(value).map(({ value: leaf }) => originOfLeaf(leaf, argument, from));
    if (observed.every((where) => where !== null)) {
      return [{ argument, from: [...new Set(observed)].join(', ') }];
    }
    if (source !== 'customer') return [{ argument, from: null }];
    const said =
      isChoice(known.parameters, argument) || leaves(value).every((leaf) => wasSaid(leaf, known));
    return [{ argument, from: said ? 'customer' : null }];
  });
}

/** The field that holds a value, rather one that is called like the argument than another. */
function originOfLeaf(value: unknown, argument: string, fields: readonly Field[]): string | null {
  const holding = fields.filter((field) => same(field.value, value));
  const best = holding.find((field) => isCalled(argument, field)) ?? holding[0];
  return best?.where ?? null;
}

/** `lineId` may be called `lineId`, `line_id` or `id`; `itemIds` holds several `item_id`. */
function isCalled(argument: string, field: Field): boolean {
  if (field.ours === true) return true;
  const name = plainName(nameOf(field));
  return name !== '' && plainName(argument).endsWith(name);
}

function isNamed(names: readonly string[], field: Field): boolean {
  return names.some((name) => plainName(name) === plainName(nameOf(field)));
}

/** The last name on the way to a field: `lines.0.id` is an `id`. */
function nameOf({ where }: Field): string {
  return where.split(/[ .]/).findLast((part) => !/^\d+$/.test(part)) ?? '';
}

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/s$/, '');
}

/** Every field of what was read in this turn, in earlier ones, and of what is established. */
function observedFields({ state, facts, claimed }: Known): Field[] {
  const fields: Field[] = [];
  const add = (data: unknown, name: string, isAsked: (field: Field) => boolean): void => {
    for (const field of leaves(data)) {
      fields.push({ ...field, where: `${name} ${field.where}`, asked: isAsked(field) });
    }
  };
  for (const { id, tool, result, effect, arguments: args } of allCalls(state)) {
    if (result?.kind === 'ok') add(result.observation.data, `${tool} (${id})`, isIn(args));
    if (effect !== undefined) fields.push(operationOf(effect.operation, `${tool} (${id})`));
  }
  for (const [resource, fact] of Object.entries(facts)) {
    add(fact.data, resource, ({ value }) => holdsWord(plain(resource), plain(String(value))));
  }
  for (const entry of claimed.history) {
    if (entry.kind !== 'turn') continue;
    for (const { proposal, results } of entry.rounds) {
      const isAsked = isIn(proposal?.kind === 'tool_calls' ? proposal.calls : []);
      for (const { tool, result, operation } of results) {
        if (result.kind === 'ok') add(result.observation.data, `earlier ${tool}`, isAsked);
        if (operation !== undefined) fields.push(operationOf(operation, `earlier ${tool}`));
      }
    }
  }
  return fields;
}

/** Whether a field repeats one of the values a call was made with. */
function isIn(args: unknown): (field: Field) => boolean {
  const given = leaves(args);
  return ({ value }) => given.some((one) => same(one.value, value));
}

function operationOf(value: string, of: string): Field {
  return { value, where: `${of} operation`, ours: true };
}

/** The single values inside a value, and the path to each. */
function leaves(value: unknown, path = ''): Field[] {
  if (typeof value !== 'object' || value === null) return [{ value, where: path }];
  return Object.entries(value).flatMap(([name, inner]) =>
    leaves(inner, path === '' ? name : `${path}.${name}`),
  );
}

function same(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map((value) =>
    ['string', 'number', 'boolean'].includes(typeof value) ? JSON.stringify(value) : undefined,
  );
  const plain = (text: string): string => text.replaceAll('"', '').toLowerCase();
  return a !== undefined && b !== undefined && plain(a) === plain(b);
}

/** The customer wrote it, as a word of its own. */
function wasSaid({ value }: Field, { claimed }: Known): boolean {
  if (value === '') return true;
  const earlier = claimed.history.flatMap((entry) => (entry.kind === 'turn' ? entry.customer : []));
  const texts = [
    ...claimed.messages.flatMap(({ text, subject }) => [text, subject ?? '']),
    ...earlier,
  ];
  const word = plain(String(value));
  return texts.some((text) => holdsWord(plain(text), word));
}

/** Lower case, one kind of dash, Western digits, without marks nobody sees: one number, however it is typed. */
function plain(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/\p{Pd}|\u2212/gu, '-')
    .replaceAll(/\p{Nd}/gu, (digit) => {
      const code = digit.codePointAt(0) ?? 0;
      // The ten digits of a script begin at a code that ends with 0 or, where no digit has that one, with 6.
      const first = code & ~15;
      return String(code - (/\p{Nd}/u.test(String.fromCodePoint(first)) ? first : first + 6));
    })
    .toLowerCase();
}

function holdsWord(text: string, word: string): boolean {
  if (word === '') return false;
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    const around = [text[at - 1] ?? ' ', text[at + word.length] ?? ' '];
    if (around.every((character) => !/[\p{L}\p{N}]/u.test(character))) return true;
  }
  return false;
}

/** One of a few words of the contract: the model's reading of what the customer wants, not a value of theirs. */
function isChoice(parameters: Readonly<Record<string, unknown>>, argument: string): boolean {
  const { properties } = parameters as { properties?: Record<string, JsonSchema> };
  const schema = properties?.[argument];
  return schema?.enum !== undefined || schema?.const !== undefined || schema?.type === 'boolean';
}

type JsonSchema = { enum?: unknown; const?: unknown; type?: unknown };
