import { InvalidInputError, ticketMessageSchema } from '../../contracts/index.ts';
import type { Adapter } from './adapter.ts';
import type { SourceApi } from './api.ts';
import { ADAPTERS, isSourceType, type SourceType } from './registry.ts';
import type { SourceSettings } from './sort.ts';

export type SourceOptions = {
  /** In the path of its webhook and in every message; 1-32 characters of a-z, 0-9, `-`, `_`. One per account. */
  name: string;
  type: SourceType;
  /** What the system signs with, or the shared secret where it does not sign. Several while one is exchanged. */
  secrets: readonly string[];
  /** Author ids of the accounts our replies are posted with. For Chatwoot with the kind before it, such as `user-9`. */
  ownAuthors?: readonly string[];
  /** Our mailboxes, without tags. */
  ownAddresses?: readonly string[];
  /** Channels, as messages name them, on which the system lets only signed-in people write. Default: none. */
  signedInChannels?: readonly string[];
  /**
   * Reads from the system, to fill in what its deliveries leave out and to look for those that never arrived. Without it
   * messages are answered as they came, and what a system sends but once is lost while we are away. Its root: the address of
   * Zendesk or Zammad; `…/api/v1/accounts/<id>` of Chatwoot; `https://api.intercom.io`, `https://api2.frontapp.com` or
   * `https://api.github.com/repos/<owner>/<name>`.
   */
  api?: SourceApi;
};

export type Source = SourceSettings & {
  type: SourceType;
  secrets: readonly string[];
  adapter: Adapter;
  api?: SourceApi;
};

/** With it Zendesk's own test button signs; everybody knows it. */
const KNOWN_SECRETS: readonly string[] = ['dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=='];
const SHORTEST_SECRET = 8;

/**
 * A source as the webhook endpoint needs it.
 *
 * @throws InvalidInputError naming the option that cannot be used; a secret itself is never shown
 */
export function configureSource(options: SourceOptions): Source {
  const {
    name,
    type,
    secrets,
    ownAuthors = [],
    ownAddresses = [],
    signedInChannels = [],
    api,
  } = options;
  const named = ticketMessageSchema.shape.source.safeParse(name);
  if (!named.success) {
    throw new InvalidInputError('source.name', name, named.error.issues[0]?.message ?? '');
  }
  if (!isSourceType(type)) {
    throw new InvalidInputError(
      'source.type',
      type,
      `is one of ${Object.keys(ADAPTERS).join(', ')}`,
    );
  }
  checkSecrets(name, secrets);
  const adapter = ADAPTERS[type];
  if (adapter.own === 'authors' && ownAuthors.length === 0) {
    throw new InvalidInputError(
      `source ${name}: ownAuthors`,
      ownAuthors,
      `needs the author id of the account replies are posted with; without it ${type} shows them as those of a person`,
    );
  }
  if (adapter.own === 'addresses' && !ownAddresses.some((address) => address.includes('@'))) {
    throw new InvalidInputError(
      `source ${name}: ownAddresses`,
      ownAddresses,
      'needs the mailbox customers write to, for example "support@example.com"',
    );
  }
  return {
    ...{ name, type, secrets, ownAuthors, ownAddresses, signedInChannels, adapter },
    ...(api === undefined ? {} : { api }),
  };
}

function checkSecrets(name: string, secrets: readonly string[]): void {
  const field = `source ${name}: secrets`;
  if (secrets.length === 0) {
    throw new InvalidInputError(
      field,
      secrets,
      'needs at least one; a source without is never believed',
    );
  }
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) {
      throw new InvalidInputError(field, '…', `each needs ${SHORTEST_SECRET} characters or more`);
    }
    if (secret !== secret.trim()) {
      throw new InvalidInputError(field, '…', 'one begins or ends with white space: copy it again');
    }
    if (KNOWN_SECRETS.includes(secret)) {
      throw new InvalidInputError(
        field,
        '…',
        'one is the published test secret of Zendesk: use your own',
      );
    }
  }
}
