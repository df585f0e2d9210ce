import { countTokens } from './tokens.ts';
import type { OfferedTool } from './tool-schemas.ts';
import type { TranscriptEntry } from './transcript.ts';
import type { WireRequest } from './wire.ts';

const toolTokens = new WeakMap<readonly OfferedTool[], number>();
const TOKENS_PER_ENTRY = 8;

/** Tokens of a request in o200k; what stays the same between calls is counted once. */
export function tokensOfRequest({
  instructions,
  situation,
  transcript,
  tools,
}: WireRequest): number {
  let ofTools = toolTokens.get(tools);
  if (ofTools === undefined) {
    ofTools = tools.length * TOKENS_PER_ENTRY + countTokens(JSON.stringify(tools));
    toolTokens.set(tools, ofTools);
  }
  const said = transcript.map((entry) => TOKENS_PER_ENTRY + tokensOfEntry(entry));
  const fixed = tokensOfInstructions(instructions) + countTokens(situation) + ofTools;
  return said.reduce((sum, tokens) => sum + tokens, fixed + TOKENS_PER_ENTRY);
}

let counted = { instructions: '', tokens: 0 };

/** An agent's instructions are the same from call to call. */
function tokensOfInstructions(instructions: string): number {
  if (counted.instructions !== instructions) {
    counted = { instructions, tokens: countTokens(instructions) };
  }
  return counted.tokens;
}

function tokensOfEntry(entry: TranscriptEntry): number {
  switch (entry.role) {
    case 'user':
      return countTokens(entry.text);
    case 'assistant':
      return (
        countTokens(entry.text) +
        (entry.calls.length === 0 ? 0 : countTokens(JSON.stringify(entry.calls)))
      );
    case 'results':
      return countTokens(JSON.stringify(entry.results));
    default:
      return entry satisfies never;
  }
}
