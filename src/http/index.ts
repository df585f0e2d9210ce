export type {
  ActResult,
  OperatorPort,
  ReprocessFilter,
  ReprocessPort,
  WebhookPort,
} from './operator-port.ts';
export { startApi, type ApiOptions, type RunningApi } from './start-api.ts';
