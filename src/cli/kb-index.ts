import type { Command } from 'commander';
import type { IndexProgress, IndexReport } from '../retrieval/indexer.ts';
import { perform, type Invocation } from './invocation.ts';
import { knowledgeOptions, OFFLINE, OFFLINE_HELP, withKnowledge } from './kb-connection.ts';
import { progressBar } from './kb-progress.ts';
import { visible } from './visible-text.ts';
import { count, dollars } from './wording.ts';

/** The JSON of `kb index`. */
export type Indexed = IndexReport & {
  /** Vectors of this model. */
  model: string;
  /** Files of the folder that are no Markdown, HTML or plain text. */
  ignored: string[];
};

export function addKbIndex(kb: Command): void {
  kb.command('index')
    .description('Reads Markdown, HTML and plain text. Only what has changed is embedded again.')
    .argument('<paths...>', 'folders and files')
    .option(OFFLINE, OFFLINE_HELP)
    .addHelpText(
      'after',
      '\nA document is named by its path below the folder, without its ending. After an interruption run it again: what was\n' +
        'embedded is kept. A file that is gone stays in the index until "turnkeeper kb remove <document>".',
    )
    .action((paths: string[], options: { offline?: boolean }, command: Command) =>
      perform(command, (invocation) => index(invocation, paths, options.offline === true)),
    );
}

async function index(
  invocation: Invocation,
  paths: readonly string[],
  offline: boolean,
): Promise<void> {
  const { out } = invocation;
  const { findFiles } = await import('../retrieval/files.ts');
  const { indexFiles } = await import('../retrieval/indexer.ts');
  const { knowledgeParts } = await import('../retrieval/knowledge.ts');
  const { files, ignored } = findFiles(paths);
  const { embedder, vectors } = knowledgeParts(await knowledgeOptions(invocation, offline));
  const bar = progressBar('chunks');
  const onProgress = ({ embedded, toEmbed }: IndexProgress): void => {
    bar.show(embedded, toEmbed);
    out.progress({ embedded, toEmbed });
  };
  const report = await withKnowledge(invocation, (store) =>
    indexFiles(
      { store, embedder, ...(vectors === undefined ? {} : { external: vectors }) },
      files,
      { onProgress },
    ),
  ).finally(() => bar.end());
  const indexed: Indexed = { ...report, model: embedder.model, ignored: [...ignored] };
  out.card(indexed, { id: () => files.map(({ id }) => id).join('\n'), text: textOf });
}

function textOf({ documents, chunks, embedded, costMicros, model, ignored }: Indexed): string {
  const { added, changed, unchanged } = documents;
  const lines = [
    `${count(added + changed + unchanged, 'document')}: ${added} added, ${changed} changed, ${unchanged} unchanged`,
    `${count(chunks, 'chunk')}: ${embedded} embedded now by ${visible(model)}, ${dollars(costMicros)}`,
    ...(ignored.length === 0
      ? []
      : [`${count(ignored.length, 'file')} passed over: no Markdown, HTML or plain text`]),
  ];
  return lines.join('\n');
}
