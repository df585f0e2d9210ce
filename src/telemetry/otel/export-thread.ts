import { parentPort, workerData } from 'node:worker_threads';
import type { ExportSettings, ExportWork, FromExport, ToExport } from './export-work.ts';
import { startExporter } from './exporter.ts';
import { traceIdOf } from './ids.ts';
import { deliverySpan, readableSpan } from './readable-span.ts';
import { turnSpans } from './turn-spans.ts';

// Makes spans of records and sends them, beside the thread that runs turns: making them takes longer than the turn.

const settings = workerData as ExportSettings;
const tell = (message: FromExport): void => parentPort?.postMessage(message);
const { agent, version, model } = settings;
const who = { agent, provider: model.provider, model: model.name };
const exporter = startExporter(settings, (dropped) => tell({ dropped }));

parentPort?.on('message', (message: ToExport) => {
  void take(message).catch((error: unknown) => tell({ problem: String(error) }));
});

async function take(message: ToExport): Promise<void> {
  const { processor, resource } = await exporter;
  if (message === 'close') {
    await processor.shutdown().catch(() => {});
    parentPort?.close();
    return;
  }
  const gathered = JSON.parse(message) as ExportWork[];
  for (const work of gathered) {
    for (const { traceId, span } of spansOf(work)) {
      processor.onEnd(readableSpan(traceId, span, { resource, version }));
    }
  }
  tell({ taken: gathered.length });
}

function spansOf(work: ExportWork) {
  if (work.kind === 'delivery') {
    return [{ traceId: traceIdOf(work.step.turnId), span: deliverySpan(work.step) }];
  }
  const { turn, exported } = work;
  try {
    const traceId = traceIdOf(turn.turnId);
    return turnSpans(turn, who)
      .filter(({ version: at }) => at > exported)
      .map((span) => ({ traceId, span }));
  } catch (error) {
    tell({ problem: String(error) });
    return [];
  }
}
