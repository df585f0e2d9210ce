import { z } from 'zod';
import { anything, id } from '../facts.ts';
import { inOrder, iso, pages, type FindMissed, type Missed } from './missed.ts';

const repository = z.object({ id });
const issue = z.looseObject({ number: id, created_at: z.string(), pull_request: anything });
const comment = z.looseObject({ created_at: z.string() });

const PER_PAGE = 100;

/**
 * Below `https://api.github.com/repos/<owner>/<name>`. Newest change first: what changes while the list is read moves to
 * the front of it.
 */
export const github: FindMissed = async function* (api, since) {
  const { id: repositoryId } = repository.parse(await api.get(''));
  const list = <T>(path: string, schema: z.ZodType<T>): AsyncIterable<T> =>
    pages(1, async (page) => {
      const answer = await api.get(`${path}since=${iso(since)}&per_page=${PER_PAGE}&page=${page}`);
      const items = z.array(schema).parse(answer);
      return { items, next: items.length < PER_PAGE ? undefined : page + 1 };
    });
  for await (const one of list('/issues?state=all&sort=updated&direction=desc&', issue)) {
    if (one.pull_request !== undefined) continue;
    const about = { repository: { id: repositoryId }, issue: one };
    const missed: Missed[] = [
      {
        at: Date.parse(one.created_at),
        headers: { 'x-github-event': 'issues' },
        body: { action: 'opened', ...about },
      },
    ];
    for await (const said of list(`/issues/${one.number}/comments?`, comment)) {
      missed.push({
        at: Date.parse(said.created_at),
        headers: { 'x-github-event': 'issue_comment' },
        body: { action: 'created', ...about, comment: said },
      });
    }
    yield inOrder(missed);
  }
};
