import { z } from 'zod';
import { InvalidInputError, type ToolContract } from '../contracts/index.ts';
import type { ToolDescription } from '../loop/index.ts';
import { IncompleteToolError } from './errors.ts';

const ALWAYS = [
  'name',
  'description',
  'input',
  'output',
  'effect',
  'reversible',
  'resource',
  'provenance',
  'failureModes',
  'authorize',
  'run',
] as const;
const OF_A_WRITE = ['idempotency', 'approval', 'verify'] as const;

/** The tools an agent may name. Refuses at start-up what would be missing at two in the morning. */
export class ToolRegistry {
  readonly #contracts = new Map<string, ToolContract>();
  readonly descriptions: readonly ToolDescription[];

  /** @throws IncompleteToolError, InvalidInputError */
  constructor(contracts: readonly ToolContract[]) {
    for (const contract of contracts) {
      refuseIncomplete(contract);
      if (this.#contracts.has(contract.name)) {
        throw new InvalidInputError('tools', contract.name, 'is registered twice; rename one');
      }
      this.#contracts.set(contract.name, contract);
    }
    this.descriptions = contracts.map(describe);
  }

  /** The tools whose effects a judge must verify. */
  judged(): string[] {
    return [...this.#contracts.values()]
      .filter(({ verify }) => verify?.level === 'judge')
      .map(({ name }) => name);
  }

  find(name: string): ToolContract | undefined {
    return this.#contracts.get(name);
  }
}

function refuseIncomplete(contract: ToolContract): void {
  const declared: Readonly<Partial<Record<string, unknown>>> = { ...contract };
  const wanted = contract.effect === 'write' ? [...ALWAYS, ...OF_A_WRITE] : ALWAYS;
  const missing = wanted.filter((field) => declared[field] === undefined);
  if (missing.length > 0) throw new IncompleteToolError(contract.name ?? '(unnamed)', missing);
  const properties = jsonSchema(contract)['properties'];
  const undeclared = Object.keys(isObject(properties) ? properties : {}).filter(
    (argument) => contract.provenance[argument] === undefined,
  );
  if (contract.effect === 'write' && undeclared.length > 0) {
    throw new IncompleteToolError(
      contract.name,
      undeclared.map((argument) => `provenance.${argument}`),
    );
  }
}

function describe(contract: ToolContract): ToolDescription {
  const { use, avoid } = contract.description;
  return {
    name: contract.name,
    description: `${use} Not for: ${avoid}`,
    parameters: jsonSchema(contract),
  };
}

function jsonSchema(contract: ToolContract): Record<string, unknown> {
  return z.toJSONSchema(contract.input, { io: 'input' });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
