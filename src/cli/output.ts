import { styleText } from 'node:util';
import { Table } from 'console-table-printer';
import { csvCell, visible, visibleJson } from './visible-text.ts';

export const FORMATS = ['table', 'json', 'jsonl', 'csv', 'id'] as const;
export type Format = (typeof FORMATS)[number];

export type Column<Row> = { title: string; cell(row: Row): string | number | null };

/** A list in every format. The JSON of a row is the row. */
export type ListView<Row> = {
  id(row: Row): string;
  columns: readonly Column<Row>[];
  /** Said instead of an empty table. */
  empty: string;
};

/** One thing in every format: its JSON is the value. */
export type CardView<Value> = {
  id(value: Value): string;
  text(value: Value): string;
  /** The rows of `csv` and `jsonl`. Default: the value itself. */
  rows?(value: Value): readonly object[];
};

const BORDERLESS = { left: '', mid: '', right: '', other: '' };

/** Data goes to stdout, everything else to stderr; colour only where somebody looks at it. */
export class Output {
  readonly format: Format;
  readonly #colour: boolean;
  #closed = false;

  constructor(options: { format: Format; colour: boolean }) {
    this.format = options.format;
    this.#colour = options.colour;
  }

  get isText(): boolean {
    return this.format === 'table';
  }

  list<Row extends object>(rows: readonly Row[], view: ListView<Row>): void {
    switch (this.format) {
      case 'table':
        return this.write(rows.length === 0 ? view.empty : this.#table(rows, view.columns));
      case 'json':
        return this.write(visibleJson(rows, 2));
      case 'jsonl':
        return rows.forEach((row) => this.write(visibleJson(row)));
      case 'csv':
        return this.#csv(rows);
      case 'id':
        return rows.forEach((row) => this.write(visible(view.id(row))));
      default:
        this.format satisfies never;
    }
  }

  card<Value extends object>(value: Value, view: CardView<Value>): void {
    const rows = view.rows?.(value) ?? [value];
    switch (this.format) {
      case 'table':
        return this.write(view.text(value));
      case 'json':
        return this.write(visibleJson(value, 2));
      case 'jsonl':
        return rows.forEach((row) => this.write(visibleJson(row)));
      case 'csv':
        return this.#csv(rows);
      case 'id':
        return this.write(visible(view.id(value)));
      default:
        this.format satisfies never;
    }
  }

  /** One line of a command that reports while it works; only as JSON lines. */
  progress(event: object): void {
    if (this.format === 'jsonl') this.write(visibleJson(event));
  }

  /** One line on stdout. */
  write(line: string): void {
    if (!this.#closed) process.stdout.write(`${line}\n`);
  }

  /** For the person at the terminal, never part of the data. */
  note(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  /** The command does its work to the end although nobody reads its output any more. */
  outlivesItsReader(): void {
    process.stdout.removeAllListeners('error');
    process.stdout.on('error', () => {
      this.#closed = true;
    });
  }

  strong(text: string): string {
    return this.#colour ? styleText('bold', text, { validateStream: false }) : text;
  }

  mark(kind: 'good' | 'attention' | 'bad', text: string): string {
    const colours = { good: 'green', attention: 'yellow', bad: 'red' } as const;
    return this.#colour ? styleText(colours[kind], text, { validateStream: false }) : text;
  }

  #table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
    const table = new Table({
      shouldDisableColors: true,
      columns: columns.map(({ title }) => ({ name: title, alignment: 'left' })),
      style: {
        headerTop: BORDERLESS,
        headerBottom: BORDERLESS,
        tableBottom: BORDERLESS,
        vertical: '',
      },
    });
    for (const row of rows) {
      const cells = columns.map(({ title, cell }) => [title, visible(String(cell(row) ?? '-'))]);
      table.addRow(Object.fromEntries(cells) as Record<string, string>);
    }
    const [header = '', ...lines] = table
      .render()
      .split('\n')
      .map((line) => line.slice(1).trimEnd())
      .filter((line) => line !== '');
    return [this.strong(header), ...lines].join('\n');
  }

  #csv(rows: readonly object[]): void {
    const [first] = rows;
    if (first === undefined) return;
    const names = Object.keys(first);
    this.write(names.map(csvCell).join(','));
    for (const row of rows) {
      const cells = new Map(Object.entries(row));
      this.write(names.map((name) => csvCell(cells.get(name))).join(','));
    }
  }
}
