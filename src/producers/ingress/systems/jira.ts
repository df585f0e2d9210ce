import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { header } from '../request.ts';
import { hmac } from '../signature.ts';

const account = z.object({ accountId: z.string(), accountType: text, emailAddress: text });
type Account = z.output<typeof account>;

/** Wiki text, or a document of nested nodes. */
const rich = anything;

const payload = z.object({
  webhookEvent: z.string(),
  user: maybe(account),
  issue: z.object({
    id,
    fields: z.object({
      summary: text,
      description: rich,
      reporter: maybe(account),
      status: maybe(z.object({ statusCategory: maybe(z.object({ key: z.string() })) })),
    }),
  }),
  comment: maybe(z.object({ id, author: account, body: rich, jsdPublic: maybe(z.boolean()) })),
  // Only what is needed of its items: one of their fields is called `toString`.
  changelog: maybe(z.object({ items: z.array(z.object({ field: z.string() })) })),
});
type Payload = z.output<typeof payload>;

export const jira = defineAdapter({
  verify: hmac({
    header: 'x-hub-signature',
    prefix: 'sha256=',
    signed: ['body'],
    hash: 'sha256',
    encoding: 'hex',
    // A hook made by hand without a secret is not signed.
    orShared: true,
  }),
  redelivery: { by: 'source', forMs: HOUR_MS },
  own: 'authors',
  facts(body, request) {
    const said = payload.parse(body);
    const deliveryId = header(request, 'x-atlassian-webhook-identifier');
    // The key changes when an issue is moved; the id stays.
    const conversationId = said.issue.id;
    switch (said.webhookEvent) {
      case 'jira:issue_created':
        return [created(said, deliveryId)];
      case 'comment_created':
        return [commented(said, deliveryId)];
      case 'comment_updated':
      case 'comment_deleted':
        return [nothing('edited', conversationId)];
      case 'jira:issue_deleted':
        return [{ fact: 'change', change: 'deleted', conversationId }];
      case 'jira:issue_updated':
        return isClosing(said)
          ? [{ fact: 'change', change: 'closed', conversationId }]
          : [nothing('no_message', conversationId)];
      default:
        return [nothing('no_message', conversationId)];
    }
  },
});

/** The description is the first message: no comment tells of it. */
function created({ user, issue }: Payload, deliveryId: string | undefined): Fact {
  const { reporter, summary, description } = issue.fields;
  const writer = user ?? reporter;
  return {
    fact: 'message',
    conversationId: issue.id,
    messageId: 'description',
    deliveryId,
    author: authorOf(writer, reporter),
    body: { text: plain(description) },
    subject: summary,
  };
}

function commented({ comment, issue }: Payload, deliveryId: string | undefined): Fact {
  if (comment === undefined) throw new TypeError('comment_created without a comment');
  return {
    fact: 'message',
    conversationId: issue.id,
    messageId: comment.id,
    deliveryId,
    author: authorOf(comment.author, issue.fields.reporter),
    body: { text: plain(comment.body) },
    subject: issue.fields.summary,
    internal: comment.jsdPublic === false,
  };
}

/** Employees can be customers too: who reported an issue is its customer, whatever the account. */
function authorOf(writer: Account | undefined, reporter: Account | undefined): Author {
  const kind =
    writer?.accountType === 'app'
      ? 'machine'
      : writer?.accountType === 'customer' || writer?.accountId === reporter?.accountId
        ? 'customer'
        : 'agent';
  return { kind, id: writer?.accountId, email: writer?.emailAddress };
}

function isClosing({ changelog, issue }: Payload): boolean {
  const moved = changelog?.items.some(({ field }) => field === 'status') === true;
  return moved && issue.fields.status?.statusCategory?.key === 'done';
}

const node = z.object({ type: z.string(), text, content: maybe(z.array(z.unknown())) });
const BLOCKS: readonly string[] = ['paragraph', 'heading', 'listItem', 'codeBlock', 'tableRow'];
const DEEPEST = 50;

function plain(body: unknown, depth = 0): string {
  if (typeof body === 'string') return body;
  if (body === null || body === undefined || depth > DEEPEST) return '';
  const { type, text: words = '', content = [] } = node.parse(body);
  if (type === 'hardBreak') return '\n';
  const inner = content.map((child) => plain(child, depth + 1)).join('');
  return `${words}${inner}${BLOCKS.includes(type) ? '\n' : ''}`;
}
