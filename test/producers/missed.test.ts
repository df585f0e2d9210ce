import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  ADAPTERS,
  FIND_MISSED,
  type Mapped,
  type Missed,
  type SourceApi,
  type SourceType,
} from '../../src/producers/ingress/index.ts';
import { delivery, json, made, sourceOf } from './ingress/deliveries.ts';

const SINCE = Date.parse('2026-03-04T10:00:00Z');

/** An API that has these pages; records what it was asked for. */
function api(pages: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const get = (path: string): Promise<unknown> => {
    asked.push(path);
    const [, answer] = Object.entries(pages).find(([start]) => matches(path, start)) ?? [];
    if (answer === undefined) return Promise.reject(new Error(`not there: ${path}`));
    return Promise.resolve(answer);
  };
  return { asked, get };
}

function matches(path: string, start: string): boolean {
  return start === '' || start.endsWith('!')
    ? path === start.replace('!', '')
    : path.startsWith(start);
}

async function found(type: SourceType, from: SourceApi): Promise<(readonly Missed[])[]> {
  const find = FIND_MISSED[type];
  if (find === undefined) throw new Error(`${type} cannot be looked through`);
  const all: (readonly Missed[])[] = [];
  for await (const one of find(from, SINCE)) all.push(one);
  return all;
}

function read(type: SourceType, missed: readonly Missed[]): Promise<Mapped[]> {
  const source = sourceOf(type);
  return Promise.all(
    missed.map(({ body, headers }) => source.adapter.map(made(body, { ...headers }), source)),
  );
}

/** What a recorded delivery means, without what names the delivery itself. */
async function meant(file: string): Promise<Mapped['accept']> {
  const { request, source } = delivery(file);
  return (await source.adapter.map(request, source)).accept.map(
    ({ deliveryId: _deliveryId, ...message }) => message,
  );
}

const hook = z.looseObject({
  issue: z.looseObject({ number: z.number() }),
  comment: z.looseObject({ id: z.number(), created_at: z.string() }),
  repository: z.looseObject({ id: z.number() }),
});

test('GitHub: issues and comments are read as the deliveries of them would have been; pull requests are left out', async () => {
  const { issue, comment, repository } = hook.parse(json('github.issue_comment.created.json'));
  const staff = {
    ...comment,
    ...{ id: 7, author_association: 'MEMBER', user: { id: 99, type: 'User' } },
    created_at: '2027-01-01T00:00:00Z',
  };
  const github = api({
    '': repository,
    '/issues?': [issue, { ...issue, number: 90, pull_request: { url: 'x' } }],
    [`/issues/${issue.number}/comments?`]: [staff, comment],
  });

  const [missed = [], ...more] = await found('github', github);
  const [opened, commented, answered] = await read('github', missed);

  expect(more).toEqual([]);
  expect(opened?.accept).toMatchObject([{ messageId: 'description' }]);
  expect(commented?.accept).toEqual(await meant('github.issue_comment.created.json'));
  expect(answered?.takeovers).toMatchObject([{ messageId: '7', by: '99' }]);
  expect(missed.map(({ at }) => at)).toEqual(missed.map(({ at }) => at).toSorted());
  expect(github.asked.slice(1)).toEqual([
    '/issues?state=all&sort=updated&direction=desc&since=2026-03-04T10:00:00.000Z&per_page=100&page=1',
    `/issues/${issue.number}/comments?since=2026-03-04T10:00:00.000Z&per_page=100&page=1`,
  ]);
});

test.each(['front-rule', 'front-app'] as const)(
  'Front (%s): its events are read as the deliveries of them would have been, page after page, the oldest first',
  async (type) => {
    const event = z.looseObject({ id: z.string() }).parse(json('front.rule.inbound.json'));
    const earlier = { ...event, ...{ id: 'evt_1', type: 'out_reply', emitted_at: 1_772_619_000 } };
    const sent = z
      .looseObject({ target: z.looseObject({ data: z.looseObject({}) }) })
      .parse(earlier);
    const next = 'https://example.api.frontapp.com/events?page_token=two';
    const front = api({
      '/events?q': { _pagination: { next }, _results: [event] },
      '/events?page_token=two': {
        _pagination: { next: null },
        _results: [
          {
            ...earlier,
            source: { _meta: { type: 'teammate' } },
            target: {
              data: {
                ...sent.target.data,
                id: 'msg_1',
                is_inbound: false,
                author: { id: 'tea_1' },
              },
            },
          },
        ],
      },
    });

    const [missed = [], ...more] = await found(type, front);
    const [first, second] = await read(type, missed);

    expect(more).toEqual([]);
    expect(first?.takeovers).toMatchObject([{ messageId: 'msg_1', by: 'tea_1' }]);
    const [message] = await meant('front.rule.inbound.json');
    expect(second?.accept).toMatchObject([{ ...message, source: type, deliveryId: event.id }]);
    expect(front.asked).toEqual([
      '/events?q%5Bafter%5D=1772618400&limit=15&q%5Btypes%5D=inbound&q%5Btypes%5D=outbound&q%5Btypes%5D=out_reply',
      '/events?page_token=two',
    ]);
  },
);

test('the first comment of a Zendesk ticket is known under either name its events give it', async () => {
  const comment = (id: number, at: string) => ({
    ...{ id, author_id: 9_013_371, plain_body: 'Hi', public: true, created_at: at },
  });
  const zendesk = api({
    '/api/v2/incremental': {
      tickets: [
        { id: 35_436, subject: 'My order', status: 'open', via: { channel: 'email' } },
        { id: 1, subject: null, status: 'deleted' },
      ],
      ...{ after_cursor: 'x', end_of_stream: true },
    },
    '/api/v2/tickets/35436/comments': {
      comments: [comment(901, '2026-03-04T10:01:00Z'), comment(902, '2026-03-04T10:02:00Z')],
      users: [{ id: 9_013_371, role: 'end-user' }],
    },
  });

  const [missed = [], ...more] = await found('zendesk', zendesk);

  expect(more).toEqual([]);
  expect(missed.map(({ aliases }) => aliases)).toEqual([['description'], undefined]);
  const [first] = await read('zendesk', missed);
  expect(first?.accept).toMatchObject([{ messageId: '901', subject: 'My order' }]);
});

test('every system that sends nothing a second time by itself can be looked through', () => {
  const once = Object.entries(ADAPTERS).filter(([, { redelivery }]) => redelivery.by !== 'source');
  expect(once.map(([type]) => type)).toContain('chatwoot');
  for (const [type] of once) expect(Object.keys(FIND_MISSED)).toContain(type);
});
