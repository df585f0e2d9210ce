export { defineAgent, type Agent, type AgentOptions } from './define-agent.ts';
export { AgentConfigError, CONFIG_FILE, loadAgent, type LoadedAgent } from './load-agent.ts';
export {
  loadEnvironmentFile,
  maskedUrl,
  readSettings,
  SettingsError,
  wantsPlainText,
  type Settings,
} from './settings.ts';
