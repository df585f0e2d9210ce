import { TurnkeeperError } from '../contracts/index.ts';

/** A script answered something its caller does not know: the script and this code are of different versions. */
export class UnexpectedReplyError extends TurnkeeperError {
  readonly code = 'unexpected_reply';

  constructor(script: string, reply: unknown) {
    super(`${script} answered ${JSON.stringify(reply)}; are all processes of one version?`);
  }
}

/** The number of lanes is fixed when the first process starts on a Redis. */
export class LaneCountError extends TurnkeeperError {
  readonly code = 'lane_count';

  constructor(stored: number, wanted: number) {
    super(
      `LANES is ${wanted}, but this Redis was started with ${stored}: set LANES=${stored}, or let the ` +
        `conversations run dry (turnkeeper turns list --open shows none), stop all processes and delete the meta keys`,
    );
  }
}
