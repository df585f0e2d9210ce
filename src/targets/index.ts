export { targets } from './by-source.ts';
export { chatwootTarget, type ChatwootOptions } from './chatwoot.ts';
export { intercomTarget, type IntercomOptions } from './intercom.ts';
export { webhookTarget, type WebhookOptions } from './webhook.ts';
export { zammadTarget, type ZammadOptions } from './zammad.ts';
export { zendeskTarget, type ZendeskOptions } from './zendesk.ts';
