import { mkdirSync, writeFileSync } from 'node:fs';
import { BOARDS } from './boards.ts';
import { boardFile, boardText } from './files.ts';

/** Writes the boards as Grafana loads them: `node grafana/src/build.ts`. */
mkdirSync(new URL('../dashboards/', import.meta.url), { recursive: true });
for (const board of BOARDS) writeFileSync(boardFile(board), boardText(board));
