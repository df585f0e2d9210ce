import type { RecordedTurn } from './turn-spans.ts';

/** One step of a delivery, as its worker saw it. Times in milliseconds since the epoch. */
export type DeliveryStep = {
  turnId: string;
  deliveryId: string;
  kind: string;
  status: string;
  attempt: number;
  startedAt: number;
  endedAt: number;
};

/** What the export thread is told when it starts. */
export type ExportSettings = {
  /** Where spans are posted to. */
  url: string;
  version: string;
  agent: string;
  model: { provider: string; name: string };
};

/** Something to export; of a turn the spans after the first `exported` events. */
export type ExportWork =
  | { kind: 'turn'; turn: RecordedTurn; exported: number }
  | { kind: 'delivery'; step: DeliveryStep };

/** To the thread: a list of work as JSON, or nothing more. */
export type ToExport = string;

/** From the thread: work it has taken, spans it could not export, or why a turn is none. */
export type FromExport = { taken: number } | { dropped: number } | { problem: string };
