import { describe, expect, test } from 'vitest';
import { IncompleteToolError, ToolRegistry } from '../../src/tools/index.ts';
import { Shop, shopTools } from '../support/shop.ts';

const tools = shopTools(new Shop());
const refund = tools.find(({ name }) => name === 'issue_refund');

describe('[S0-10] [S0-23] [S2-04] the registry refuses a write tool without its whole contract', () => {
  test.each([
    'description',
    'input',
    'output',
    'effect',
    'reversible',
    'resource',
    'provenance',
    'failureModes',
    'authorize',
    'idempotency',
    'approval',
    'verify',
    'run',
  ])('and names what is missing: %s', (field) => {
    const incomplete = { ...refund, [field]: undefined } as never;

    expect(() => new ToolRegistry([incomplete])).toThrow(
      field === 'effect'
        ? IncompleteToolError
        : new RegExp(`issue_refund cannot be used.*${field}`),
    );
  });

  test('[S0-20] a write tool cannot be registered without idempotency', () => {
    const { idempotency: _, ...rest } = refund ?? {};

    expect(() => new ToolRegistry([rest as never])).toThrow(/lacks idempotency/);
  });

  test('every argument of a write says where its value may come from', () => {
    const careless = { ...refund, provenance: { orderId: 'customer' } } as never;

    expect(() => new ToolRegistry([careless])).toThrow(/provenance\.amount/);
  });

  test('two tools of one name are refused', () => {
    expect(() => new ToolRegistry([...tools, ...tools])).toThrow(/get_order.*registered twice/);
  });
});

test('[S0-16] [S1-07] the model is told what a tool is for, what not, and the schema of its arguments', () => {
  const [getOrder] = new ToolRegistry(tools).descriptions;

  expect(getOrder).toMatchObject({
    name: 'get_order',
    description: 'Reads an order. Not for: orders of other people.',
    parameters: { type: 'object', required: ['orderId'] },
  });
});
