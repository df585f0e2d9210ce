import type { Adapter } from './adapter.ts';
import { mailgun } from './mail/mailgun.ts';
import { mime } from './mail/mime.ts';
import { postmark } from './mail/postmark.ts';
import { sendgrid } from './mail/sendgrid.ts';
import { chatwoot } from './systems/chatwoot.ts';
import { freshdesk } from './systems/freshdesk.ts';
import { frontApp, frontRule } from './systems/front.ts';
import { github } from './systems/github.ts';
import { gorgias } from './systems/gorgias.ts';
import { helpscout } from './systems/helpscout.ts';
import { hubspot } from './systems/hubspot.ts';
import { intercom } from './systems/intercom.ts';
import { jira } from './systems/jira.ts';
import { zammad } from './systems/zammad.ts';
import { zendesk } from './systems/zendesk.ts';

/** Every system that can be a source, by its type. */
export const ADAPTERS = {
  chatwoot,
  freshdesk,
  'front-app': frontApp,
  'front-rule': frontRule,
  github,
  gorgias,
  helpscout,
  hubspot,
  intercom,
  jira,
  mailgun,
  mime,
  postmark,
  sendgrid,
  zammad,
  zendesk,
} satisfies Record<string, Adapter>;

export type SourceType = keyof typeof ADAPTERS;

export function isSourceType(type: string): type is SourceType {
  return Object.hasOwn(ADAPTERS, type);
}
