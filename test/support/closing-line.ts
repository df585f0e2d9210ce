import type { Reporter, TestModule } from 'vitest/node';

/** Ends the run with one plain line that a script can read. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    let broken = 0;
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      if (module.errors().length > 0) broken += 1;
    }
    const failed = count.failed + broken;
    console.log(`\n${count.passed} passed, ${failed} failed, ${count.skipped} skipped`);
  }
}
