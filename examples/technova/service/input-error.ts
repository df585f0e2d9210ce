import type { z } from 'zod';

/** One line per problem: the field, the value that was seen, and what to write instead. */
export function describeIssues(error: z.ZodError, input: unknown): string[] {
  return error.issues.map((issue) => {
    const field = pathText(issue.path);
    return `${field} is ${shown(valueAt(input, issue.path))}: ${fixFor(issue)}`;
  });
}

function fixFor(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `use ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`;
    case 'invalid_type':
      return `give a value of type ${issue.expected}`;
    case 'unrecognized_keys':
      return `remove the unknown ${issue.keys.length === 1 ? 'field' : 'fields'} ${issue.keys.join(', ')}`;
    case 'too_small':
      return `use at least ${String(issue.minimum)}`;
    case 'too_big':
      return `use at most ${String(issue.maximum)}`;
    default:
      return issue.message;
  }
}

function pathText(path: PropertyKey[]): string {
  if (path.length === 0) return 'the whole input';
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, part);
  }
  return value;
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
