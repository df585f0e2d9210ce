import { TurnkeeperError } from '../contracts/index.ts';

/** Not proven yet: the read is tried again after `delayMs`. BullMQ stores this text, so it is fixed. */
export class VerificationPendingError extends TurnkeeperError {
  readonly code = 'verification_pending';
  override readonly retryable = true;
  readonly delayMs: number;

  constructor(delayMs: number) {
    super('verification pending');
    this.delayMs = delayMs;
  }
}
