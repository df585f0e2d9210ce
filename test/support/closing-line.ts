import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/**
 * Ends a run with one plain line that a script can read: `N passed, N failed, N skipped`. What broke outside of a test (a
 * file that does not load, an error nobody caught) and what was cut short counts as failed.
 */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      if (module.errors().length > 0) count.failed += 1;
    }
    const failed = count.failed + count.pending;
    console.log(`\n${count.passed} passed, ${failed} failed, ${count.skipped} skipped`);
  }
}
