import { decide } from '../../src/cli/decide-approval.ts';
import { Output } from '../../src/cli/output.ts';
import type { Settings } from '../../src/config/index.ts';
import { OPERATOR } from './scenario.ts';

/**
 * Answers one request the way a person does: it is the function behind `approvals approve` and `approvals reject`.
 * Returns what the command says.
 *
 * @throws CommandError when somebody else was first
 */
export async function answer(
  settings: Settings,
  approvalId: string,
  verdict: 'approved' | 'rejected',
): Promise<string> {
  const out = new Kept();
  const reason =
    verdict === 'approved' ? 'part of the demo' : 'part of the demo: this one is refused';
  await decide({ settings, out }, approvalId, verdict, { by: OPERATOR, reason });
  return out.lines.join(' ');
}

/** Keeps what a command says. */
class Kept extends Output {
  readonly lines: string[] = [];

  constructor() {
    super({ format: 'table', colour: false });
  }

  override write(line: string): void {
    this.lines.push(line);
  }
}
