import { parseSync } from 'vite';

/** One small defect: what stands there and what is put in its place. */
export type Mutant = {
  id: number;
  file: string;
  line: number;
  kind: string;
  before: string;
  after: string;
};

type Node = { type: string; start: number; end: number } & Record<string, unknown>;

const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '/', '&&': '||', '||': '&&', '**': '*' },
};
const METHODS: Readonly<Record<string, string>> = {
  ...{ every: 'some', some: 'every', max: 'min', min: 'max', startsWith: 'endsWith' },
  ...{ find: 'findLast', findLast: 'find' },
};
/** Of the nodes that are types, these hold code. */
const WRAPPERS = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);

/**
 * Puts every mutant of a file into it at once, each behind `__m(id)`, which is true for the one that is tried: the file
 * is compiled once for all of them.
 */
export function instrument(file: string, source: string, firstId: number) {
  const mutants: Mutant[] = [];
  const raw = (start: number, end: number): string => source.slice(start, end);

  const note = (node: Node, kind: string, after: string): number => {
    const id = firstId + mutants.length;
    const line = source.slice(0, node.start).split('\n').length;
    mutants.push({ id, file, line, kind, before: raw(node.start, node.end), after });
    return id;
  };

  /** The text of a node with what can be put in its place. */
  const emit = (node: Node, isCondition = false): string => {
    if (isType(node) || node.type === 'ImportDeclaration') return raw(node.start, node.end);
    let text = '';
    let at = node.start;
    for (const child of childrenOf(node)) {
      text += raw(at, child.node.start) + emit(child.node, child.isCondition);
      at = child.node.end;
    }
    text += raw(at, node.end);
    if (node.type === 'ExpressionStatement') {
      // What only the compiler looks at changes nothing.
      if ((node['expression'] as Node).type === 'TSSatisfiesExpression') return text;
      return `{ if (!__m(${note(node, 'line removed', '')})) { ${text} } }`;
    }
    const choices = [...alternativesTo(node, raw)];
    if (isCondition) {
      choices.push({ kind: 'always', after: 'true' }, { kind: 'never', after: 'false' });
    }
    return choices.reduce(
      (inner, { kind, after }) => `(__m(${note(node, kind, after)}) ? (${after}) : ${inner})`,
      text,
    );
  };

  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${String(errors[0]?.message)}`);
  return { text: emit(program as unknown as Node), mutants };
}

function* alternativesTo(
  node: Node,
  raw: (start: number, end: number) => string,
): Generator<{ kind: string; after: string }> {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression': {
      const [left, right] = [node['left'] as Node, node['right'] as Node];
      const operator = String(node['operator']);
      const start = raw(node.start, left.end);
      if (operator === '??') yield { kind: 'default removed', after: start };
      const other = OPERATORS[operator];
      if (other === undefined) return;
      const between = raw(left.end, right.start).replace(operator, other);
      const kind = /[<>]/.test(operator) ? 'boundary' : 'operator';
      yield { kind, after: start + between + raw(right.start, node.end) };
      return;
    }
    case 'Literal': {
      const { value } = node;
      if (typeof value === 'boolean') yield { kind: 'boolean', after: String(!value) };
      if (typeof value === 'number') yield { kind: 'number', after: String(value + 1) };
      return;
    }
    case 'UnaryExpression': {
      const inner = node['argument'] as Node;
      if (node['operator'] === '!')
        yield { kind: 'no longer negated', after: raw(inner.start, inner.end) };
      return;
    }
    case 'ArrayExpression': {
      const elements = (node['elements'] as (Node | null)[]).filter((one) => one !== null);
      for (const gone of elements) {
        const rest = elements.filter((one) => one !== gone);
        const after = `[${rest.map(({ start, end }) => raw(start, end)).join(', ')}]`;
        yield { kind: 'element removed', after };
      }
      return;
    }
    case 'CallExpression': {
      const property = (node['callee'] as Node)['property'];
      if (!isNode(property)) return;
      const other = METHODS[raw(property.start, property.end)];
      if (other === undefined) return;
      const after = raw(node.start, property.start) + other + raw(property.end, node.end);
      yield { kind: 'method', after };
      return;
    }
    default:
  }
}

/** What lies directly inside a node and is code, in the order of the text. */
function childrenOf(node: Node): { node: Node; isCondition: boolean }[] {
  const branches = node.type === 'IfStatement' || node.type === 'ConditionalExpression';
  const found: { node: Node; isCondition: boolean }[] = [];
  for (const [key, value] of Object.entries(node)) {
    // Names of properties are no expressions.
    if ((key === 'key' || key === 'property') && node['computed'] !== true) continue;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(one)) found.push({ node: one, isCondition: branches && key === 'test' });
    }
  }
  return found
    .toSorted((a, b) => a.node.start - b.node.start)
    .filter(
      ({ node: { start } }, index, all) => !all.slice(0, index).some((one) => start < one.node.end),
    );
}

function isType({ type }: Node): boolean {
  return type.startsWith('TS') && !WRAPPERS.has(type);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
