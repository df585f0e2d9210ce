import { ReplyError } from 'ioredis';

const LOST =
  /Connection is closed|Command timed out|isn't writeable|max retries per request|ECONN|EPIPE|socket/i;

/** Redis did not take or did not answer a command: whether it took effect is not known. */
export function redisFailed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof ReplyError || LOST.test(error.message);
}
