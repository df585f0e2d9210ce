import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Output, type Format } from '../../src/cli/output.ts';
import { ReadProgress } from '../../src/cli/read-progress.ts';

const START = 1_800_000_000_000;

function open(format: Format, input: { bytes?: number } = {}) {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const lines: string[] = [];
  const out = new Output({ format, colour: false });
  vi.spyOn(out, 'note').mockImplementation((line) => void lines.push(line));
  const read = { bytes: 0 };
  const progress = new ReadProgress(
    { stream: Readable.from([]), ...input, bytesRead: () => read.bytes },
    out,
  );
  const look = async (at: number, bytes: number, accepted: number): Promise<void> => {
    vi.setSystemTime(START + at);
    read.bytes = bytes;
    await progress.look({ accepted, known: 12, bad: 1 });
  };
  return { lines, progress, look };
}

test('piped, a long import says now and then in plain lines how far it is and how fast, and once more at its end', async () => {
  const { lines, progress, look } = open('table', { bytes: 1_000 });

  await look(500, 100, 1_000);
  await look(1_100, 200, 2_000);
  await look(1_400, 300, 3_000);
  await look(6_200, 900, 12_200);
  vi.setSystemTime(START + 6_900);
  await progress.end({ accepted: 20_480, known: 12, bad: 1 });

  expect(lines).toEqual([
    '[####................] 20 % · 2,000 accepted, 12 known, 1 bad',
    '[##################..] 90 % · 12,200 accepted, 12 known, 1 bad · 2,000/s',
    '[##################..] 90 % · 20,480 accepted, 12 known, 1 bad · 3,186/s',
  ]);
});

test('a short import, and one whose output a program reads, say nothing in between', async () => {
  const short = open('table', { bytes: 1_000 });
  await short.look(900, 900, 50);
  await short.progress.end({ accepted: 50, known: 0, bad: 0 });
  const json = open('json', { bytes: 1_000 });
  await json.look(9_000, 900, 50);
  await json.progress.end({ accepted: 50, known: 0, bad: 0 });

  expect([short.lines, json.lines]).toEqual([[], []]);
});

test('from stdin, whose end nobody knows, there is no share', async () => {
  const { lines, look } = open('table');

  await look(2_000, 900, 50);

  expect(lines).toEqual(['50 accepted, 12 known, 1 bad']);
});
