import { TurnkeeperError } from '../contracts/index.ts';

/** The backend answered that it did not and will not do it. `code` is the backend's stable word for why. */
export class ToolRefusal extends TurnkeeperError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The call certainly had no effect: it was never sent, or turned away at the door. Trying again is safe. */
export class ToolUnavailable extends TurnkeeperError {
  readonly code: string;
  override readonly retryable = true;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A tool was registered without its whole contract. */
export class IncompleteToolError extends TurnkeeperError {
  readonly code = 'incomplete_tool';
  readonly missing: readonly string[];

  constructor(tool: string, missing: readonly string[]) {
    super(
      `tool ${tool} cannot be used: its contract lacks ${missing.join(', ')}; a write tool declares all of them`,
    );
    this.missing = missing;
  }
}
