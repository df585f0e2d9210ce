import { existsSync } from 'node:fs';
import { CONFIG_FILE } from '../config/load-agent.ts';
import { loadAgent } from '../config/index.ts';
import type { KnowledgeOptions } from '../retrieval/knowledge.ts';
import { KnowledgeStore } from '../store/knowledge.ts';
import { withRecords } from './connection.ts';
import type { Invocation } from './invocation.ts';

export const OFFLINE = '--offline';
export const OFFLINE_HELP =
  'with the parts that need no key, whatever the configuration says; default where there is none';

/** Runs work on the knowledge base. */
export function withKnowledge<T>(
  { settings }: Pick<Invocation, 'settings'>,
  work: (store: KnowledgeStore) => Promise<T>,
): Promise<T> {
  const prefix = settings.TURNKEEPER_PREFIX;
  return withRecords(settings, ({ redis }) => work(new KnowledgeStore({ redis, prefix })));
}

/** What the agent is configured with. Without a configuration: the parts that need no key. */
export async function knowledgeOptions(
  { configFile }: Pick<Invocation, 'configFile'>,
  offline: boolean,
): Promise<KnowledgeOptions> {
  if (offline || (configFile === undefined && !existsSync(CONFIG_FILE))) return {};
  const { agent } = await loadAgent(configFile === undefined ? {} : { file: configFile });
  return agent.knowledge ?? {};
}
