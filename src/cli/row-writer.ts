import { once } from 'node:events';
import type { Output } from './output.ts';
import { csvCell, visible, visibleJson } from './visible-text.ts';

/** How a list of any length is written, a part at a time. */
export type RowsView<Row> = {
  /** What the JSON object holds besides the rows: before them, and the name they go by. */
  head: object;
  name: string;
  id(row: Row): string;
  /** The cells of a row in CSV, by column. Every row has the same ones. */
  cells(row: Row): Readonly<Record<string, unknown>>;
};

/**
 * Writes rows as they come and waits for whoever reads them, so that their number does not matter. A table is not written by
 * it: what somebody can take in is a summary.
 */
export class RowWriter<Row extends object> {
  readonly #out: Output;
  readonly #view: RowsView<Row>;
  #rows = 0;

  constructor(out: Output, view: RowsView<Row>) {
    this.#out = out;
    this.#view = view;
    if (out.format === 'json') out.write(`${visibleJson(view.head).slice(0, -1)},"${view.name}":[`);
  }

  async write(rows: readonly Row[]): Promise<void> {
    for (const row of rows) {
      this.#one(row);
      this.#rows += 1;
    }
    if (process.stdout.writableNeedDrain) {
      // A reader that is gone ends it: see program.ts.
      await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')]);
    }
  }

  /** `tail` is what is known only now: the end of the JSON object, the last of the JSON lines. */
  end(tail: object): void {
    if (this.#out.format === 'json') this.#out.write(`],${visibleJson(tail).slice(1)}`);
    if (this.#out.format === 'jsonl') this.#out.write(visibleJson(tail));
  }

  #one(row: Row): void {
    const { format } = this.#out;
    switch (format) {
      case 'json':
        return this.#out.write(`${this.#rows === 0 ? '' : ','}${visibleJson(row)}`);
      case 'jsonl':
        return this.#out.write(visibleJson(row));
      case 'csv': {
        const cells = this.#view.cells(row);
        if (this.#rows === 0) this.#out.write(Object.keys(cells).map(csvCell).join(','));
        return this.#out.write(Object.values(cells).map(csvCell).join(','));
      }
      case 'id':
        return this.#out.write(visible(this.#view.id(row)));
      case 'table':
        return;
      default:
        format satisfies never;
    }
  }
}
