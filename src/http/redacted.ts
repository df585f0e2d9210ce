import type {
  AcceptedMessage,
  Approval,
  LedgerRow,
  ProposedCall,
  TurnEvent,
} from '../contracts/index.ts';
import { canonicalJson } from '../loop/index.ts';
import { redactText } from '../telemetry/index.ts';

/** What stands in the place of what tools said. */
export type Withheld = { withheld: true; bytes: number };

function withheld(value: unknown): Withheld {
  return { withheld: true, bytes: Buffer.byteLength(canonicalJson(value)) };
}

/** Fields of an event that hold what another system said, whatever their depth. */
const SAID_BY_TOOLS: readonly string[] = ['data', 'seen'];

/** Text that people or models wrote with addresses, numbers and keys masked; what tools said is left out. */
export function redacted(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      redactText(name),
      SAID_BY_TOOLS.includes(name) && inner !== undefined ? withheld(inner) : redacted(inner),
    ]),
  );
}

export function redactedEvent(event: TurnEvent): unknown {
  switch (event.type) {
    case 'effect_refused':
      return redacted({ ...event, refusal: withoutOutcome(event.refusal) });
    case 'calls_checked':
      return redacted({
        ...event,
        verdicts: event.verdicts.map((verdict) =>
          verdict.kind === 'on_record'
            ? { ...verdict, refusal: withoutOutcome(verdict.refusal) }
            : verdict,
        ),
      });
    case 'model_responded': {
      const { proposal } = event;
      if (proposal.kind !== 'tool_calls') return redacted(event);
      return {
        ...(redacted({ ...event, proposal: null }) as object),
        proposal: { ...(redacted(proposal) as object), calls: proposal.calls.map(redactedCall) },
      };
    }
    default:
      return redacted(event);
  }
}

/** A call keeps the names of its arguments, also one that is called `data`. */
function redactedCall({ id, tool, arguments: given }: ProposedCall): unknown {
  return { id, tool: redactText(tool), arguments: redactedArguments(given) };
}

function redactedArguments(given: unknown): unknown {
  if (typeof given === 'string') return redactText(given);
  if (Array.isArray(given)) return given.map(redactedArguments);
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(
    Object.entries(given).map(([name, inner]) => [redactText(name), redactedArguments(inner)]),
  );
}

/** What the ledger knows of an earlier effect, without the tool's own words. */
function withoutOutcome<T extends { earlier?: { outcome?: unknown } | undefined }>(refusal: T): T {
  const { earlier } = refusal;
  if (earlier?.outcome === undefined) return refusal;
  return { ...refusal, earlier: { ...earlier, outcome: withheld(earlier.outcome) } };
}

export function redactedMessage(message: AcceptedMessage): AcceptedMessage {
  const { text, subject, requester } = message;
  return {
    ...message,
    text: redactText(text),
    requester: { ...requester, id: redactText(requester.id) },
    ...(subject === undefined ? {} : { subject: redactText(subject) }),
  };
}

export function redactedRow(row: LedgerRow): LedgerRow {
  return {
    ...row,
    resource: redactText(row.resource),
    arguments: redactedArguments(row.arguments),
    ...(row.outcome === undefined ? {} : { outcome: withheld(row.outcome) }),
  };
}

export function redactedApproval(approval: Approval): Approval {
  return {
    ...approval,
    arguments: redactedArguments(approval.arguments),
    reason: redactText(approval.reason),
    seen: withheld(approval.seen),
  };
}
