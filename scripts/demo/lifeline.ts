import { spawn } from 'node:child_process';

export type Lifeline = {
  /** This process is ended with us from now on. */
  holds(pid: number): void;
  /** Everything has been ended in the proper way: nothing is left to do. */
  release(): void;
};

/**
 * Sees to it that nothing outlives the demo, not even when it is killed: a tiny watcher in a session of its own holds the
 * reading end of a pipe of ours, which the system closes when we are gone. It then ends what it was told of.
 *
 * @param directory removed with them
 */
export function lifeline(directory: string): Lifeline {
  const script =
    'pids=; while read -r pid; do pids="$pids $pid"; done; [ -z "$pids" ] || kill -9 $pids; rm -rf "$1"';
  const watcher = spawn('/bin/sh', ['-c', script, 'lifeline', directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // A machine without /bin/sh does without; so does a pipe whose reader is gone.
  watcher.on('error', () => {});
  watcher.stdin.on('error', () => {});
  watcher.unref();
  return {
    holds: (pid) => void watcher.stdin.write(`${pid}\n`),
    release() {
      watcher.kill('SIGKILL');
      watcher.stdin.destroy();
    },
  };
}
