import { describe, expect, test } from 'vitest';
import {
  approvalSchema,
  endingSchema,
  handsOver,
  proposalSchema,
  STOP_REASONS,
  ticketMessageSchema,
  turnHeadSchema,
  type Ending,
} from '../../src/contracts/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { scriptedModel } from '../../src/models/index.ts';

describe('impossible states do not parse', () => {
  test('[P9] a reason belongs to exactly one outcome', () => {
    const reasons = Object.values(STOP_REASONS).flat();

    expect(new Set(reasons).size).toBe(reasons.length);
    expect(endingSchema.safeParse({ outcome: 'completed', reason: 'deadline' }).success).toBe(
      false,
    );
  });

  test('an approval that is pending has no decider, one that is decided has one', () => {
    const request = {
      ...{ id: 'a', conversationId: 'c', turnId: 't', callId: '1.1', tool: 'x', arguments: {} },
      ...{ actionHash: 'h', operation: 'o', reason: 'r', seen: null, requestedAt: 1, expiresAt: 2 },
    };

    expect(approvalSchema.safeParse({ ...request, status: 'pending' }).success).toBe(true);
    expect(approvalSchema.safeParse({ ...request, status: 'approved' }).success).toBe(false);
  });

  test('a turn has an outcome exactly when it has ended', () => {
    const head = {
      id: 't',
      conversationId: 'c',
      intent: 'i',
      startedAt: 1,
      seq: 1,
      messageCount: 1,
    };

    expect(turnHeadSchema.safeParse({ ...head, phase: 'ended' }).success).toBe(false);
    expect(
      turnHeadSchema.safeParse({ ...head, phase: 'running_tools', outcome: 'completed' }).success,
    ).toBe(false);
  });

  test('[S2-19] [S2-20] free text is no proposal', () => {
    expect(proposalSchema.safeParse('Action: refund').success).toBe(false);
    expect(proposalSchema.safeParse({ kind: 'shell', command: 'rm' }).success).toBe(false);
    expect(proposalSchema.safeParse({ kind: 'tool_calls', calls: [] }).success).toBe(false);
  });
});

test('everything but a completed or superseded turn hands over to people', () => {
  const endings = Object.entries(STOP_REASONS).flatMap(([outcome, reasons]) =>
    reasons.map((reason) => ({ outcome, reason }) as Ending),
  );

  expect(endings.filter((ending) => !handsOver(ending)).map(({ reason }) => reason)).toEqual([
    ...STOP_REASONS.completed,
    'superseded',
  ]);
});

describe('a bad message is refused with the field, the value and what to do', () => {
  test.each([
    [{ source: 'Zen Desk' }, /source is "Zen Desk": must be 1-32 characters/],
    [{ conversationId: '' }, /conversationId/],
    [{ requester: { id: 'a', assurance: 'sure' } }, /requester\.assurance/],
    [{ text: 7 }, /text/],
  ])('%j', async (change, message) => {
    const rig = await startRig({
      model: scriptedModel(() => ({ kind: 'escalate', rationale: '' })),
    });

    await expect(rig.accept({ ...ticket(), ...change } as never)).rejects.toThrow(message);
  });

  test('the schema keeps what it knows', () => {
    expect(ticketMessageSchema.parse(ticket({ text: 'x' })).text).toBe('x');
  });
});
