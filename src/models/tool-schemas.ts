import { InvalidInputError } from '../contracts/index.ts';
import type { Toolbox, ToolDescription } from '../loop/index.ts';
import { isRecord } from './failures.ts';
import { isProposalTool, PROPOSAL_TOOL_DESCRIPTIONS } from './proposal-tools.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A tool as a provider is told of it, and how its arguments come back. */
export type OfferedTool = {
  name: string;
  description: string;
  parameters: Schema;
  /** Undoes what strict mode makes of the arguments. */
  read(args: unknown): unknown;
};

const offers = new WeakMap<readonly ToolDescription[], Map<boolean, readonly OfferedTool[]>>();

/** The agent's tools and the ways to end a turn. Made once for a list of tools. */
export function offeredTools(
  tools: readonly ToolDescription[],
  strict: boolean,
): readonly OfferedTool[] {
  const made = offers.get(tools) ?? new Map<boolean, readonly OfferedTool[]>();
  offers.set(tools, made);
  const known = made.get(strict);
  if (known !== undefined) return known;
  const offered = [...tools, ...PROPOSAL_TOOL_DESCRIPTIONS].map((tool) => offer(tool, strict));
  made.set(strict, offered);
  return offered;
}

function offer({ name, description, parameters }: ToolDescription, strict: boolean): OfferedTool {
  const { $schema: _, ...schema } = parameters;
  return strict
    ? {
        name,
        description,
        parameters: strictSchema(schema),
        read: (args) => withoutFillers(args, schema),
      }
    : { name, description, parameters: schema, read: (args) => args };
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** What no provider's strict mode takes. */
const NOT_STRICT = [
  ...['allOf', 'not', 'if', 'then', 'else', 'patternProperties', 'propertyNames'],
  ...['dependentRequired', 'dependentSchemas', 'unevaluatedProperties', 'prefixItems'],
];

/**
 * Start-up check: every tool can be offered to the provider, and the executor knows each that is offered.
 *
 * @throws InvalidInputError naming the tool and what to change
 */
export function refuseUnfitTools(
  toolbox: Pick<Toolbox, 'find' | 'descriptions'>,
  strict: boolean,
): void {
  for (const { name, parameters } of toolbox.descriptions()) {
    const field = `tools.${name}`;
    if (!NAME.test(name)) {
      throw new InvalidInputError(field, name, 'must be 1 to 64 of A-Z, a-z, 0-9, "_" and "-"');
    }
    if (isProposalTool(name)) {
      throw new InvalidInputError(
        field,
        name,
        'is how a model ends a turn; give the tool another name',
      );
    }
    if (toolbox.find(name) === undefined) {
      throw new InvalidInputError(
        field,
        name,
        'is offered to the model but cannot be run; register it',
      );
    }
    if (parameters['type'] !== 'object') {
      throw new InvalidInputError(
        `${field}.input`,
        parameters['type'] ?? 'a union',
        'must be a z.object: models answer with named arguments',
      );
    }
    const problem = strict ? strictProblem(parameters) : undefined;
    if (problem !== undefined) {
      throw new InvalidInputError(
        `${field}.input`,
        problem,
        'cannot be offered in strict mode; change it or set strictSchemas: false',
      );
    }
  }
}

function strictProblem(schema: unknown): string | undefined {
  if (Array.isArray(schema)) return firstOf(schema);
  if (!isRecord(schema)) return undefined;
  const refused = NOT_STRICT.find((word) => schema[word] !== undefined);
  if (refused !== undefined) return refused;
  const open = schema['additionalProperties'];
  if (open === true || isRecord(open)) return 'additionalProperties';
  const { properties, $defs, items, anyOf, oneOf } = schema;
  const choices = [anyOf, oneOf, isRecord($defs) ? Object.values($defs) : []]
    .flat()
    .filter(isRecord);
  if (choices.some(hasOptional)) return 'an optional property inside a union or a recursion';
  return firstOf([
    ...Object.values(isRecord(properties) ? properties : {}),
    ...Object.values(isRecord($defs) ? $defs : {}),
    ...[items, anyOf, oneOf],
  ]);
}

/** Where several schemas may apply, nobody could tell a null that stands for "left out". */
function hasOptional(schema: Schema): boolean {
  const { properties } = schema;
  const required = requiredOf(schema);
  return Object.keys(isRecord(properties) ? properties : {}).some((name) => !required.has(name));
}

function firstOf(schemas: readonly unknown[]): string | undefined {
  return schemas.map(strictProblem).find((problem) => problem !== undefined);
}

/** Strict mode wants every property: one that may be left out is asked for as null. */
function strictSchema(schema: Schema): Schema {
  const { default: _, oneOf, ...rest } = schema;
  const changed: Record<string, unknown> = { ...rest };
  const { properties, items, anyOf, $defs } = schema;
  if (isRecord(properties)) {
    const required = requiredOf(schema);
    changed['properties'] = mapped(properties, (name, one) =>
      required.has(name) || admitsNull(one)
        ? strictSchema(one)
        : { anyOf: [strictSchema(one), { type: 'null' }] },
    );
    changed['required'] = Object.keys(properties);
    changed['additionalProperties'] = false;
  } else if (schema['type'] === 'object') {
    Object.assign(changed, { properties: {}, required: [], additionalProperties: false });
  }
  if (isRecord(items)) changed['items'] = strictSchema(items);
  if (isRecord($defs)) changed['$defs'] = mapped($defs, (_name, one) => strictSchema(one));
  const choices = anyOf ?? oneOf;
  if (Array.isArray(choices)) {
    changed['anyOf'] = choices.filter(isRecord).map((one) => strictSchema(one));
  }
  return changed;
}

function mapped(
  schemas: Record<string, unknown>,
  change: (name: string, schema: Schema) => Schema,
): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, one]) => [name, change(name, isRecord(one) ? one : {})]),
  );
}

/** Takes the nulls out again that only stand for "left out". */
function withoutFillers(args: unknown, schema: Schema): unknown {
  const { properties, items } = schema;
  if (Array.isArray(args)) {
    return isRecord(items) ? args.map((one: unknown) => withoutFillers(one, items)) : args;
  }
  if (!isRecord(args) || !isRecord(properties)) return args;
  const required = requiredOf(schema);
  return Object.fromEntries(
    Object.entries(args).flatMap(([name, value]) => {
      const one = properties[name];
      if (!isRecord(one)) return [[name, value]];
      const filler = value === null && !required.has(name) && !admitsNull(one);
      return filler ? [] : [[name, withoutFillers(value, one)]];
    }),
  );
}

function requiredOf(schema: Schema): ReadonlySet<unknown> {
  return new Set(Array.isArray(schema['required']) ? schema['required'] : []);
}

function admitsNull(schema: Schema): boolean {
  const { type, anyOf } = schema;
  const types: unknown[] = Array.isArray(type) ? type : [type];
  const choices: unknown[] = Array.isArray(anyOf) ? anyOf : [];
  return types.includes('null') || choices.some((one) => isRecord(one) && admitsNull(one));
}
