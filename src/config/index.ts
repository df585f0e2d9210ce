export { defineAgent, type Agent, type AgentOptions } from './define-agent.ts';
