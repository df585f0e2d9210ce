export { defineAgent, type Agent, type AgentOptions } from './define-agent.ts';
export { loadAgent, type LoadedAgent } from './load-agent.ts';
export {
  loadEnvironmentFile,
  maskedUrl,
  readSettings,
  wantsPlainText,
  type Settings,
} from './settings.ts';
