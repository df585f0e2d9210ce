import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OUTCOMES, STOP_REASONS, type StopReason } from '../../src/contracts/index.ts';
import {
  PrometheusMeter,
  serveMetrics,
  sharedGauges,
  watchProcess,
} from '../../src/telemetry/metrics/index.ts';
import { traceIdOf } from '../../src/telemetry/otel/index.ts';
import { acceptMessage } from '../../src/producers/index.ts';
import { sharedState } from '../../src/workers/index.ts';
import { panelExpressions, rules } from '../support/expressions.ts';
import { findPrometheus, promtool, RULES, startPrometheus } from '../support/prometheus.ts';
import { startRig, ticket } from '../support/rig.ts';
import { SCENES, sceneModel } from '../support/stop-reasons.ts';
import { Shop, shopTools } from '../support/shop.ts';

const LOOP = new URL('../../src/loop/', import.meta.url);
const WORKERS = new URL('../../src/workers/', import.meta.url);
const programs = findPrometheus();
const missing = 'missing' in programs;
const title = missing ? ` (skipped: ${programs.missing})` : '';

/** In the union for agents to come: nothing of ours ends a turn for them yet. */
const WITHOUT_PRODUCER: StopReason[] = ['refused_by_policy', 'injection_suspected'];

test('every stop reason has a scene, except those that nothing produces', () => {
  const sources = [LOOP, WORKERS].flatMap((folder) =>
    readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8')),
  );
  const produced = (reason: StopReason): boolean =>
    sources.some((text) => text.includes(`'${reason}'`));
  const reasons = OUTCOMES.flatMap((outcome): readonly StopReason[] => STOP_REASONS[outcome]);

  expect(reasons.filter((reason) => !(reason in SCENES))).toEqual(WITHOUT_PRODUCER);
  expect(WITHOUT_PRODUCER.filter(produced)).toEqual([]);
});

describe.skipIf(missing)(`with a real Prometheus${title}`, () => {
  test('promtool finds nothing wrong with the rules', () => {
    const checked = promtool(
      programs,
      'check',
      'rules',
      `${RULES}alerts.rules.yml`,
      `${RULES}recording.rules.yml`,
    );

    expect(checked.output).not.toMatch(/FAILED/);
    expect(checked.ok, checked.output).toBe(true);
  });

  test('every alert is quiet before its cause and fires after it', { timeout: 120_000 }, () => {
    const tested = promtool(programs, 'test', 'rules', `${RULES}alerts.test.yml`);

    expect(tested.ok, tested.output).toBe(true);
  });

  test(
    'after traffic to every stop reason with a producer, each panel and rule has a series',
    { timeout: 120_000 },
    async () => {
      const meter = new PrometheusMeter({ sources: ['test'] });
      const rig = await startWorld(meter);
      sharedGauges(meter, sharedState(rig.store, rig.queues));
      const stopWatching = watchProcess(meter, {
        version: '0.1.0',
        ping: () => rig.redis.ping(),
      });
      const { port, close } = await serveMetrics(meter, { port: 0 });
      onTestFinished(async () => {
        stopWatching();
        await close();
      });
      const prometheus = await startPrometheus(programs, [port]);
      await prometheus.until('turnkeeper_turns_total');

      const reasons = Object.keys(SCENES) as StopReason[];
      await Promise.all(reasons.map((reason) => play(reason, rig, meter)));
      // One approval is left to wait.
      await rig.accept(ticket({ conversationId: 'waits', text: 'approval_rejected' }));
      await rig.target.arrived('holding', 1);
      await Promise.all(
        reasons.map((reason) =>
          prometheus.until(`turnkeeper_turns_total{stop_reason="${reason}", source="test"} > 0`),
        ),
      );
      await prometheus.until('turnkeeper:turns:share_rate15m > 0');

      const wanted = [...panelExpressions(), ...rules().filter(({ kind }) => kind === 'record')];
      for (const { where, expr } of wanted) {
        const series = await prometheus.query(expr);
        if (series.length > 0) continue;
        // A scrape that took too long makes everything absent for a moment.
        await prometheus.until(expr).catch(() => expect.fail(`${where}: no series for ${expr}`));
      }
      const { data } = await prometheus.get<{
        groups: { rules: { name: string; health: string; lastError?: string }[] }[];
      }>('rules');
      const broken = data.groups
        .flatMap((group) => group.rules)
        .filter(({ health }) => health !== 'ok');
      expect(broken).toEqual([]);

      const turn = await rig.records.conversation('test/replied');
      const exemplars = await prometheus.get<{ exemplars: { labels: { trace_id: string } }[] }[]>(
        'query_exemplars',
        {
          query: 'turnkeeper_customer_wait_seconds_bucket',
          start: String(Date.now() / 1_000 - 600),
          end: String(Date.now() / 1_000 + 600),
        },
      );
      const traces = exemplars.data.flatMap((one) =>
        one.exemplars.map(({ labels }) => labels.trace_id),
      );
      expect(traces.every((id) => /^[0-9a-f]{32}$/.test(id)) && traces.length > 0).toBe(true);
      expect(traceIdOf(turn?.lastTurn ?? '')).toMatch(/^[0-9a-f]{32}$/);
    },
  );
});

type Rig = Awaited<ReturnType<typeof startRig>>;

/** The pipeline with a shop; everything it measures goes into the meter. */
async function startWorld(meter: PrometheusMeter, reason?: StopReason): Promise<Rig> {
  const scene = reason === undefined ? undefined : SCENES[reason];
  const shop = new Shop();
  for (let id = 1; id < 10; id += 1) shop.add({ id: String(id) });
  scene?.shop?.(shop);
  const observed = { meter };
  const rig = await startRig({
    model: sceneModel,
    // On a busy machine an ordinary read must not count as lost.
    tools: shopTools(shop, { get_order: { timeoutMs: 2_000 } }),
    approvalLimits: { EUR: 1_000 },
    limits: { rounds: 8 },
    store: { slackMs: 1_000 },
    ...scene?.agent,
    host: { ...scene?.agent?.host, ...observed },
  });
  await rig.startHost();
  return rig;
}

/** Lets a customer write the name of the reason, and people do what the scene wants of them. */
async function play(reason: StopReason, shared: Rig, meter: PrometheusMeter): Promise<void> {
  const scene = SCENES[reason];
  const special =
    scene?.agent !== undefined || scene?.shop !== undefined || scene?.people !== undefined;
  const rig = special ? await startWorld(meter, reason) : shared;
  const message = ticket({ conversationId: reason, text: reason });
  await acceptMessage(rig.store, rig.queues, message, { meter });
  await scene?.meanwhile?.(rig);
  if (scene?.people === undefined) return;
  await rig.target.arrived('holding', 1);
  const [waiting] = await rig.records.pendingApprovals();
  if (waiting === undefined) throw new Error(`${reason}: nothing waits for a person`);
  await scene.people(rig, waiting);
}
