import { describe, expect, onTestFinished, test } from 'vitest';
import { openaiModel, testModel } from '../../src/models/index.ts';
import { fault, startModelServer, type Behaviour } from '../support/model-server/index.ts';

const settings = { apiKey: 'sk-probe-0123456789abcd', model: 'gpt-5-mini' };

async function report(behaviour: Behaviour) {
  const server = await startModelServer(() => behaviour);
  onTestFinished(() => server.close());
  const model = openaiModel({ ...settings, baseURL: `${server.origin}/v1` });
  const findings = await testModel(model, { timeoutMs: 5_000, silenceMs: 300 });
  return { findings, of: (check: string) => findings.find((one) => one.check === check), server };
}

const lookUp: Behaviour = {
  ...{ do: 'answer', usage: { input: 200, output: 15 } },
  calls: [{ name: 'get_state', arguments: { id: '1' } }],
};

describe('the test of a model', () => {
  test('tells what the endpoint can do and what the request cost, with one request', async () => {
    const { findings, of, server } = await report(lookUp);

    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.tools).toContain('get_state');
    expect(findings.every(({ status }) => status === 'ok')).toBe(true);
    expect(of('tool calls')?.value).toBe('yes');
    expect(of('streaming')?.value).toBe('yes');
    expect(of('token counts')?.value).toBe('200 in, 15 out');
    expect(of('cost')?.value).toBe('$0.000080 for this request');
    expect(of('prices')?.value).toContain('https://');
  });

  test('warns of a server without tools, streams and counts', async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'No idea.' }] }];
    const { of } = await report({ do: 'body', body: { status: 'completed', output } });

    expect(of('tool calls')).toMatchObject({
      status: 'warn',
      value: 'answered with finish_candidate',
    });
    expect(of('streaming')?.status).toBe('warn');
    expect(of('token counts')?.status).toBe('warn');
  });

  test.each([
    ['a wrong key', fault('auth', 'responses'), /^wrong key/],
    ['a wrong model', fault('model', 'responses'), /^wrong model/],
    ['a wrong path', { do: 'status', status: 404, body: { detail: 'Not Found' } }, /^wrong URL/],
    ['a web site', { do: 'body', body: '<html></html>', type: 'text/html' }, /^wrong URL/],
    ['an empty account', fault('quota', 'responses'), /top it up/],
    ['a server that says nothing', { do: 'stall' }, /went silent/],
    ['a server that hangs up', { do: 'hang_up' }, /check baseURL/],
  ] as [string, Behaviour, RegExp][])('names %s and what to do', async (_what, behaviour, fix) => {
    const { of } = await report(behaviour);

    expect(of('answer')).toMatchObject({ status: 'fail', fix: expect.stringMatching(fix) });
  });

  test('[P16] shows no key, not even the part of one that a provider repeats', async () => {
    const body = {
      error: { code: 'invalid_api_key', message: `Incorrect key: ${settings.apiKey}` },
    };
    const { findings } = await report({ do: 'status', status: 401, body });

    expect(JSON.stringify(findings)).toContain('Incorrect key: [key]');
    expect(JSON.stringify(findings)).not.toContain('sk-probe');
  });
});
