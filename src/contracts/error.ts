/**
 * Base of every error of ours. `code` is stable and may be logged, stored and returned; `message` says what happened,
 * with the value seen, and what to do next. Retrying is decided by the type, not by the text.
 */
export abstract class TurnkeeperError extends Error {
  abstract readonly code: string;
  /** The same call may succeed later without anyone changing anything. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Bad input of a caller: names the field, the value and what would be accepted. */
export class InvalidInputError extends TurnkeeperError {
  readonly code = 'invalid_input';
  readonly field: string;

  constructor(field: string, value: unknown, expected: string) {
    super(`${field} is ${preview(value)}: ${expected}`);
    this.field = field;
  }
}

function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
