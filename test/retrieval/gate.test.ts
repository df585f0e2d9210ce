import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { calibrate, calibrated, shippedCalibration } from '../../src/retrieval/calibration.ts';
import { gate } from '../../src/retrieval/gate.ts';
import { ranked } from './support.ts';

const scores = (...all: number[]) => all.map((score, at) => ranked(score, { chunkId: `c${at}` }));

describe('gate', () => {
  test.each([
    [0.7199, 0],
    [0.72 - Number.EPSILON / 2, 0],
    [0.72, 1],
    [0.7201, 1],
    [0.61, 0],
  ])('[S1-01] [S1-21] best score %d: %d passages go through', (score, passages) => {
    expect(gate().admit(scores(score))).toHaveLength(passages);
  });

  test('[S1-01] [S1-21] [S3-32] the best score decides for all, and never more than five go through', () => {
    expect(
      gate()
        .admit(scores(0.9, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1))
        .map((one) => one.rerankScore),
    ).toEqual([0.9, 0.5, 0.4, 0.3, 0.2]);
    expect(gate().admit(scores(...Array.from({ length: 20 }, () => 0.71)))).toEqual([]);
    expect(gate().admit([])).toEqual([]);
  });
});

describe('calibration', () => {
  const shape = { embedder: 'e', reranker: 'r', date: '2026-01-01', data: 'test' };

  property.prop([
    fc.double({ min: -1e3, max: 1e3, noNaN: true }),
    fc.double({ min: 1e-6, max: 1e3, noNaN: true }),
    fc.double({ min: -1e3, max: 1e3, noNaN: true }),
  ])(
    '[S1-21] a raw score passes the gate exactly when it reaches the threshold',
    (threshold, slope, raw) => {
      const score = calibrated(raw, { ...shape, threshold, slope });

      expect(score >= 0.72).toBe(raw >= threshold);
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(1);
    },
  );

  test('it keeps 85 of 100 answerable questions and is as strict as that allows', () => {
    const observed = Array.from({ length: 100 }, (_, at) => {
      return { best: at, answerable: true, right: true };
    });
    const outside = [90, 3, 1].map((best) => ({ best, answerable: false, right: false }));

    const { threshold, slope } = calibrate([...observed, ...outside]);

    expect(threshold).toBe(15);
    expect(slope).toBeGreaterThan(0);
    expect(() => calibrate(outside)).toThrow(/pairs/);
  });

  test('the shipped calibration says when and on what it was made', () => {
    expect(shippedCalibration()).toMatchObject({
      embedder: 'offline/wink-sg-100d-40k',
      reranker: 'offline/evidence',
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      data: expect.stringContaining('223 questions'),
    });
  });
});
