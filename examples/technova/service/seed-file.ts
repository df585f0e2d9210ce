import { readFileSync } from 'node:fs';

/** Reads a JSON file. Fails with one line that names the file and what to do. */
export function readSeedFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new Error(
      `${path} cannot be read. Set SEED_FILE to a readable JSON file, or leave it out.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(
      `${path} is not JSON (${error instanceof Error ? error.message : String(error)}). Correct the file.`,
    );
  }
}
