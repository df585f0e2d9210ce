import { z } from 'zod';
import { DAY_MS, defineAdapter } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { header } from '../request.ts';
import { hmac } from '../signature.ts';

const user = z.object({ id, type: z.string() });

const payload = z.object({
  action: z.string(),
  repository: z.object({ id }),
  issue: z.object({
    number: id,
    title: text,
    body: text,
    user: maybe(user),
    author_association: text,
    pull_request: anything,
  }),
  /** Of a transfer: where the issue is now. */
  changes: maybe(
    z.object({
      new_issue: maybe(z.object({ number: id })),
      new_repository: maybe(z.object({ id })),
    }),
  ),
  comment: maybe(
    z.object({
      id,
      body: text,
      user: maybe(user),
      author_association: text,
      performed_via_github_app: anything,
    }),
  ),
});
type Payload = z.output<typeof payload>;

const CHANGE: Readonly<Record<string, 'closed' | 'reopened' | 'deleted' | undefined>> = {
  closed: 'closed',
  reopened: 'reopened',
  deleted: 'deleted',
};

export const github = defineAdapter({
  verify: hmac({
    header: 'x-hub-signature-256',
    prefix: 'sha256=',
    signed: ['body'],
    hash: 'sha256',
    encoding: 'hex',
  }),
  // By hand, for three days, under the same delivery id.
  redelivery: { by: 'person', forMs: 3 * DAY_MS },
  own: 'none',
  facts(body, request) {
    const event = header(request, 'x-github-event');
    if (event === 'ping') return [nothing('ping')];
    if (event !== 'issues' && event !== 'issue_comment') return [nothing('no_message')];
    const said = payload.parse(body);
    const conversationId = conversationOf(said);
    if (said.issue.pull_request !== undefined) return [nothing('no_message', conversationId)];
    const deliveryId = header(request, 'x-github-delivery');
    if (event === 'issue_comment') {
      return said.action === 'created'
        ? [commented(said, deliveryId)]
        : [nothing('edited', conversationId)];
    }
    if (said.action === 'opened') return [opened(said, deliveryId)];
    if (said.action === 'transferred') return [transferred(said)];
    const change = CHANGE[said.action];
    return change === undefined
      ? [nothing(said.action === 'edited' ? 'edited' : 'no_message', conversationId)]
      : [{ fact: 'change', change, conversationId }];
  },
});

type Place = { repository: { id: string }; issue: { number: string } };

function conversationOf({ repository, issue }: Place): string {
  return `${repository.id}#${issue.number}`;
}

/** Gone from here; what waits goes on where it is now. */
function transferred({ changes, ...said }: Payload): Fact {
  const conversationId = conversationOf(said);
  const { new_issue: issue, new_repository: repository } = changes ?? {};
  if (issue === undefined || repository === undefined) {
    return { fact: 'change', change: 'deleted', conversationId };
  }
  const into = conversationOf({ repository, issue });
  return { fact: 'change', change: 'merged', conversationId, into };
}

function opened(said: Payload, deliveryId: string | undefined): Fact {
  const { issue } = said;
  return {
    fact: 'message',
    conversationId: conversationOf(said),
    messageId: 'description',
    deliveryId,
    author: authorOf(said, issue.user, issue.author_association),
    body: { text: issue.body },
    subject: issue.title,
  };
}

function commented(said: Payload, deliveryId: string | undefined): Fact {
  const { comment, issue } = said;
  if (comment === undefined) throw new TypeError('issue_comment without a comment');
  const author = authorOf(said, comment.user, comment.author_association);
  const byApp = comment.performed_via_github_app ?? undefined;
  return {
    fact: 'message',
    conversationId: conversationOf(said),
    messageId: comment.id,
    deliveryId,
    author: byApp === undefined ? author : { ...author, kind: 'machine' },
    body: { text: comment.body },
    subject: issue.title,
  };
}

const STAFF: readonly unknown[] = ['OWNER', 'MEMBER', 'COLLABORATOR'];

/** Who opened an issue is its customer, also one of the staff. GitHub has everybody signed in. */
function authorOf(
  { issue }: Payload,
  writer: z.output<typeof user> | undefined,
  association: string | undefined,
): Author {
  const kind =
    writer?.type === 'Bot'
      ? 'machine'
      : STAFF.includes(association) && writer?.id !== issue.user?.id
        ? 'agent'
        : 'customer';
  return { kind, id: writer?.id, proven: true };
}
