import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { metricsDocument } from '../../scripts/metrics-document.ts';
import { OUTCOMES, STOP_REASONS } from '../../src/contracts/index.ts';
import { REFUSALS } from '../../src/producers/ingress/signature.ts';
import {
  definitionOf,
  LABELS,
  METRIC_NAMES,
  METRICS,
  mostSeries,
  PrometheusMeter,
  serveMetrics,
} from '../../src/telemetry/metrics/index.ts';

test('docs/metrics.md says what the catalogue says', () => {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

  expect(page, 'run `node scripts/generate-metrics.ts`').toBe(metricsDocument());
});

describe('the catalogue', () => {
  test('names counters `_total` and everything that has a unit by its base unit', () => {
    for (const name of METRIC_NAMES) {
      const { type, help, buckets } = definitionOf(name);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(name).not.toMatch(/(_ms|_millis|_minutes|_hours|_kb|_micros)(_|$)/);
      expect(help, name).toMatch(/^[A-Z1"].*\.$/);
      expect(buckets === undefined, name).toBe(type !== 'histogram');
    }
  });

  test('[P16] no metric can have more series than its labels allow, whatever comes in', () => {
    for (const name of METRIC_NAMES) expect(mostSeries(name), name).toBeLessThanOrEqual(15_000);
    const labels = Object.keys(LABELS);
    expect(labels.filter((label) => /conversation|turn_id|customer|ticket/.test(label))).toEqual(
      [],
    );
  });
});

test('every reason not to believe a webhook is a value of its label', () => {
  expect(LABELS.webhook_result.values).toEqual(expect.arrayContaining([...REFUSALS]));
});

describe('a meter', () => {
  test('has every stop reason of the union at zero before the first turn, for every source it knows', async () => {
    const text = await new PrometheusMeter({ sources: ['zendesk'] }).text();

    for (const outcome of OUTCOMES) {
      for (const reason of STOP_REASONS[outcome]) {
        for (const source of ['zendesk', 'other']) {
          expect(text).toContain(
            `turnkeeper_turns_total{outcome="${outcome}",stop_reason="${reason}",source="${source}"} 0\n`,
          );
        }
      }
    }
  });

  test('starts the counters of a new source at zero before it counts anything of it', async () => {
    const meter = new PrometheusMeter();

    meter.expect('source', 'gorgias');

    const series = (await meter.text()).match(/turnkeeper_turns_total\{.*source="gorgias"\} 0/g);
    expect(series).toHaveLength(Object.values(STOP_REASONS).flat().length);
  });

  test('[P16] counts values beyond the bound of a label as `other`', async () => {
    const meter = new PrometheusMeter();
    const { atMost } = LABELS.source;

    for (let index = 0; index < 2 * atMost; index += 1) {
      meter.add('messages_total', { source: `s${index}`, received: 'accepted' });
    }

    const text = await meter.text();
    const sources = new Set(text.match(/(?<=turnkeeper_messages_total\{source=")\w+/g));
    expect(sources.size).toBe(atMost + 1);
    expect(text).toContain(`messages_total{source="other",received="accepted"} ${atMost}\n`);
  });

  test('does not report a gauge nobody has set', async () => {
    const meter = new PrometheusMeter();

    expect(await meter.text()).not.toMatch(/^turnkeeper_redis_up /m);
    meter.set('redis_up', {}, 1);
    expect(await meter.text()).toMatch(/^turnkeeper_redis_up 1$/m);
  });

  test('names every metric of the catalogue, and only those, over HTTP', async () => {
    const meter = new PrometheusMeter();
    const { port, close } = await serveMetrics(meter, { port: 0 });

    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    const text = await response.text();
    const missing = await fetch(`http://127.0.0.1:${port}/other`);
    await close();

    expect(response.headers.get('content-type')).toMatch(/openmetrics/);
    const named = [...text.matchAll(/^# HELP turnkeeper_(\w+) /gm)].map(([, name]) => name ?? '');
    const families = Object.keys(METRICS).map((name) => name.replace(/_total$/, ''));
    expect(named.map((name) => name.replace(/_total$/, '')).toSorted()).toEqual(
      families.toSorted(),
    );
    expect(missing.status).toBe(404);
  });

  test('a collector that fails leaves the others alone', async () => {
    const meter = new PrometheusMeter();
    meter.onScrape(() => Promise.reject(new Error('away')));
    meter.onScrape(() => meter.set('redis_clients', {}, 3));

    expect(await meter.text()).toMatch(/^turnkeeper_redis_clients 3$/m);
  });
});
