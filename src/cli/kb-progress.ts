import { styleText } from 'node:util';
import { wantsPlainText } from '../config/index.ts';

const WIDTH = 30;

export type ProgressBar = { show(done: number, of: number): void; end(): void };

/** One line on stderr that is written over, where somebody looks at it; elsewhere nothing. */
export function progressBar(what: string): ProgressBar {
  const { stderr } = process;
  const plain = wantsPlainText();
  let shown = false;
  return {
    show(done, of) {
      if (!stderr.isTTY || of === 0) return;
      shown = true;
      const filled = Math.floor((WIDTH * done) / of);
      const bar = '#'.repeat(filled).padEnd(WIDTH, '.');
      const line = `[${plain ? bar : styleText('cyan', bar)}] ${done} of ${of} ${what}`;
      stderr.write(`\r${line}`);
    },
    end() {
      if (shown) stderr.write('\n');
    },
  };
}
