export { defineTool } from './define-tool.ts';
export { IncompleteToolError, ToolRefusal, ToolUnavailable } from './errors.ts';
export { MAX_OBSERVATION_BYTES, ToolExecutor } from './executor.ts';
export { ToolRegistry } from './registry.ts';
