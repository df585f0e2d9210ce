import type { SourceType } from '../registry.ts';
import { chatwoot } from './chatwoot.ts';
import { frontApp, frontRule } from './front.ts';
import { github } from './github.ts';
import { intercom } from './intercom.ts';
import type { FindMissed } from './missed.ts';
import { zammad } from './zammad.ts';
import { zendesk } from './zendesk.ts';

export type { FindMissed, Missed } from './missed.ts';

/** The systems that can be looked through for what never arrived. All that send nothing a second time are among them. */
export const FIND_MISSED: Readonly<Partial<Record<SourceType, FindMissed>>> = {
  ...{ chatwoot, github, intercom, zammad, zendesk },
  ...{ 'front-app': frontApp, 'front-rule': frontRule },
};
