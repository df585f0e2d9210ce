import type { ToolContract } from '../contracts/index.ts';

/** Types a tool by its schemas and hands it on as the contract the runtime works with. */
export function defineTool<Input, Output>(tool: ToolContract<Input, Output>): ToolContract {
  // The registry and the executor parse the input with the tool's own schema before any of its functions see it.
  return tool as unknown as ToolContract;
}
