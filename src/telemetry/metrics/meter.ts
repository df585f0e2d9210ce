import type { CounterName, GaugeName, HistogramName, LabelsOf } from './catalogue.ts';

/**
 * Takes measurements. Names and labels are those of the catalogue; a value a label has no room for is counted as
 * `other`. Never throws and never waits.
 */
export interface Meter {
  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  /** @param traceId becomes the exemplar of the bucket */
  observe<Name extends HistogramName>(
    name: Name,
    labels: LabelsOf<Name>,
    value: number,
    traceId?: string,
  ): void;
  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Moves a gauge, for what several parts of a process add up to. */
  shift<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, by: number): void;
  /** Says that a value of a guarded label exists, so that its counters start at zero and no rate misses their first. */
  expect(label: 'source' | 'tool', value: string): void;
}

/** Measures nothing. */
export const noMeter: Meter = {
  add() {},
  observe() {},
  set() {},
  shift() {},
  expect() {},
};
