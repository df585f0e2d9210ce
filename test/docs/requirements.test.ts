import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ELSEWHERE, REQUIREMENTS } from '../../scripts/requirement-list.ts';
import { requirementRows, titledTests } from '../../scripts/requirements.ts';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/requirements.md', root), 'utf8');
const rows = requirementRows(page);
const tests = titledTests();
const hint = 'run `node scripts/requirements.ts` if that is meant';

describe('docs/requirements.md', () => {
  test('has one row for each requirement, and no other', () => {
    expect(rows.map(({ id }) => id)).toEqual(REQUIREMENTS.map(({ id }) => id));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  test('names only tests that are there and still carry the id', () => {
    const gone = rows
      .filter(({ kind }) => kind === 'test')
      .flatMap(({ id, places }) =>
        places
          .filter(
            ({ file, title = '' }) =>
              !tests.some(
                (one) => one.file === file && one.ids.includes(id) && one.title.startsWith(title),
              ),
          )
          .map(({ file, title }) => `${id}: ${file} “${title}”`),
      );

    expect(gone, hint).toEqual([]);
    expect(rows.filter(({ kind, places }) => kind === 'test' && places.length === 0)).toEqual([]);
  });

  test('names only files that are there', () => {
    const missing = rows.flatMap(({ id, places }) =>
      places
        .filter(({ file }) => !existsSync(new URL(file, root)))
        .map(({ file }) => `${id}: ${file}`),
    );

    expect(missing).toEqual([]);
  });

  test('calls open only what is listed as such', () => {
    const open = rows.filter(({ kind }) => kind === 'open').map(({ id }) => id);
    const listed = Object.entries(ELSEWHERE).flatMap(([id, { kind }]) =>
      kind === 'open' ? [id] : [],
    );

    expect(
      open.filter((id) => !listed.includes(id)),
      hint,
    ).toEqual([]);
  });

  test('every id in the title of a test is a requirement', () => {
    const known = new Set(REQUIREMENTS.map(({ id }) => id));
    const strange = tests.flatMap(({ ids, file }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${file}: ${id}`),
    );

    expect(strange).toEqual([]);
  });
});
