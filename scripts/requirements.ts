import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { ELSEWHERE, REQUIREMENTS } from './requirement-list.ts';

/** A test whose title begins with ids; `title` without them. */
export type TitledTest = { file: string; ids: readonly string[]; title: string };

const ROOT = new URL('../', import.meta.url).pathname;
const TITLE = /(['"`])(?<ids>(?:\[(?:S\d-\d{2}|P\d{1,2})\] ?)+)(?<title>(?:(?!\1)[^\n])*)\1/g;
/** Tests, and the cases that every provider is tested with. */
const TITLED = ['test/**/*.test.ts', 'test/models/provider-contract.ts'];
/** Tests named for each requirement; the rest is counted. */
const SHOWN = 3;
/** Longest part of a title that is shown. */
const LENGTH = 90;

/** Every title in the tests that carries an id, in the order of files and lines. */
export function titledTests(): TitledTest[] {
  return globSync(TITLED, { cwd: ROOT })
    .toSorted()
    .flatMap((file) =>
      [...readFileSync(ROOT + file, 'utf8').matchAll(TITLE)].map(({ groups }) => ({
        file,
        ids: [...(groups?.['ids'] ?? '').matchAll(/\[([^\]]+)\]/g)].map(([, id = '']) => id),
        title: groups?.['title'] ?? '',
      })),
    );
}

/** docs/requirements.md: where each requirement is proved or kept. */
export function requirementsDocument(): string {
  const tests = titledTests();
  const rows = REQUIREMENTS.map(({ id, about }) => {
    const own = tests.filter(({ ids }) => ids.includes(id));
    const elsewhere = ELSEWHERE[id];
    if (own.length > 0) return row(id, about, 'test', placesOf(own));
    if (elsewhere === undefined) return row(id, about, 'open', '');
    if (elsewhere.kind === 'open') return row(id, about, 'open', '');
    return row(id, about, elsewhere.kind, `\`${elsewhere.place}\``);
  });
  return [
    '# Where each requirement is kept',
    '',
    'Made by `node scripts/requirements.ts` from the titles of the tests, which carry ids, and from `scripts/requirement-list.ts`. A test fails when a',
    'test or a file named here is gone. `test`: breaking it turns the test red; of many tests the first three are named.',
    '`structure`, `document`: the file that holds it. `open`: another part of the project, not proved here yet.',
    '',
    '| id | about | kind | place |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Rows of the page as it is: id, kind, and the files and titles it names. */
export function requirementRows(page: string) {
  return page
    .split('\n')
    .filter((line) => /^\| (S\d|P\d)/.test(line))
    .map((line) => {
      const [id = '', , kind = '', place = ''] = line.slice(2, -2).split(' | ');
      const named = [...place.matchAll(/`(?<file>[^`]+)`(?: “(?<title>[^”]*)”)?/g)];
      return {
        id,
        kind,
        places: named.map(({ groups }) => ({
          file: groups?.['file'] ?? '',
          title: groups?.['title'],
        })),
      };
    });
}

function placesOf(tests: readonly TitledTest[]): string {
  // One test of each file first: the same thing seen from different sides.
  const firsts = tests.filter(
    ({ file }, index) => tests.findIndex((other) => other.file === file) === index,
  );
  const named = [...firsts, ...tests.filter((one) => !firsts.includes(one))].slice(0, SHOWN);
  const places = named.map(({ file, title }) => `\`${file}\` “${fragment(title)}”`);
  const more = tests.length - named.length;
  return [...places, ...(more > 0 ? [`and ${more} more`] : [])].join('<br>');
}

/** The beginning of a title up to the first thing that a table, or the source of a test, writes differently. */
function fragment(title: string): string {
  return title
    .replace(/[\\|”$].*$/, '')
    .slice(0, LENGTH)
    .trim();
}

function row(...cells: string[]): string {
  return `| ${cells.join(' | ')} |`;
}

if (import.meta.main) writeFileSync(`${ROOT}docs/requirements.md`, requirementsDocument());
