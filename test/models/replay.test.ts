import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { InvalidInputError } from '../../src/contracts/index.ts';
import {
  NotRecordedError,
  openaiModel,
  recording,
  replayModel,
  scriptedModel,
  scriptedSequence,
} from '../../src/models/index.ts';
import { startModelServer } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';
import { okResult, orderRound, viewOf } from './views.ts';

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnkeeper-replay-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'recording.jsonl');
}

test('what was recorded over the wire is played without one, answer, price and name alike', async () => {
  const server = await startModelServer(({ number }) => ({
    do: 'answer',
    text: `Answer ${number}.`,
  }));
  const file = newFile();
  const settings = { apiKey: 'k', model: 'gpt-5', baseURL: `${server.origin}/v1` };
  const model = recording(openaiModel(settings), file);
  const views = [viewOf(), viewOf({ rounds: [orderRound(1, ['7'])] })];
  const recorded = [];
  for (const view of views) recorded.push(await askAsWorker(model, {}, view));
  await server.close();

  const replay = replayModel(file);
  const played = [];
  for (const view of views.toReversed()) played.unshift(await askAsWorker(replay, {}, view));

  expect(played).toMatchObject(recorded);
  expect(views.map(replay.estimate)).toEqual(views.map(model.estimate));
});

test('the same question again gets the answers in their order, then the last one', async () => {
  const file = newFile();
  const say = (reply: string) => ({ kind: 'refuse', reply }) as const;
  const model = recording(scriptedSequence([say('One.'), say('Two.')]), file);
  await askAsWorker(model);
  await askAsWorker(model);

  const replay = replayModel(file);
  const answers = [await askAsWorker(replay), await askAsWorker(replay), await askAsWorker(replay)];

  expect(answers.map((answer) => answer.ok && answer.proposal)).toEqual(
    ['One.', 'Two.', 'Two.'].map(say),
  );
});

test('a view is known again by what is said in it, not by when', async () => {
  const file = newFile();
  const round = orderRound(1, ['7']);
  const at = (moment: number) => {
    const result = okResult('1.1', { id: '7' });
    if (result.kind !== 'ok') throw new Error('not ok');
    result.observation.at = moment;
    return viewOf({
      facts: { 'order:7': { data: { id: '7' }, at: moment, from: 'get_order', stale: moment > 5 } },
      rounds: [{ ...round, results: round.results.map((one) => ({ ...one, result })) }],
    });
  };
  const model = scriptedModel(() => ({ kind: 'refuse', reply: 'No.' }));
  await askAsWorker(recording(model, file), {}, at(1));

  expect(await askAsWorker(replayModel(file), {}, at(9))).toMatchObject({ ok: true });
});

test('[P16] a recording holds neither keys nor addresses, and of what customers wrote only its digest', async () => {
  const server = await startModelServer(() => ({
    do: 'answer',
    text: 'Mail ana@example.com, key sk-live-0123456789abcdef, card 4111 1111 1111 1111.',
  }));
  onTestFinished(() => server.close());
  const file = newFile();
  const settings = { model: 'gpt-5', baseURL: `${server.origin}/v1` };
  const model = recording(openaiModel({ ...settings, apiKey: 'sk-proj-abcdefghijklmnop' }), file);
  await askAsWorker(model, {}, viewOf({ messages: [{ text: 'My dog ate it.' }] }));

  const text = readFileSync(file, 'utf8');
  for (const secret of ['sk-proj', 'sk-live', 'ana@', '4111', 'dog ate']) {
    expect(text).not.toContain(secret);
  }
  expect(text).toContain('Mail [mail], key [key]');
});

test('a question that was never recorded is an error that says so, not an answer', async () => {
  const file = newFile();
  await askAsWorker(
    recording(
      scriptedModel(() => ({ kind: 'refuse', reply: '' })),
      file,
    ),
  );
  const other = viewOf({ messages: [{ text: 'Something else' }] });

  await expect(replayModel(file).ask(other, noCall())).rejects.toThrow(NotRecordedError);
  await expect(replayModel(file).ask(other, noCall())).rejects.toThrow(/round 1/);
});

test('a file that is no recording is refused with the line', () => {
  const file = newFile();
  writeFileSync(file, '{"view": 1}\n');

  expect(() => replayModel(file)).toThrow(InvalidInputError);
  expect(() => replayModel(file)).toThrow(/line 1/);
});

function noCall() {
  return { signal: new AbortController().signal, heartbeat: () => {}, timeoutMs: 1_000 };
}
