import { dashboardOf } from './dashboard.ts';
import type { BoardSpec } from './panels.ts';

export function boardFile({ uid }: BoardSpec): URL {
  return new URL(`../dashboards/${uid}.json`, import.meta.url);
}

export function boardText(board: BoardSpec): string {
  return `${JSON.stringify(dashboardOf(board), null, 2)}\n`;
}
