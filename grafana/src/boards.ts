import { effects } from './boards/effects.ts';
import { fine } from './boards/fine.ts';
import { ingress } from './boards/ingress.ts';
import { money } from './boards/money.ts';
import { redis } from './boards/redis.ts';
import { turns } from './boards/turns.ts';
import { why } from './boards/why.ts';
import type { BoardSpec } from './panels.ts';

/** In the order of the links: the front page first. */
export const BOARDS: readonly BoardSpec[] = [why, fine, turns, effects, money, ingress, redis];
