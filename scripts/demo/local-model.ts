import { openaiModel, type Model } from '../../src/index.ts';

/** What the demo asks its model server for; it is nobody's real model and has no price in the table. */
const SETTINGS = {
  api: 'chat',
  model: 'technova-policy',
  apiKey: 'none',
  prices: { input: 0.1, output: 0.5 },
} as const;

/** The model behind the demo's own server; nothing without one, so that the agent's scripted model stays. */
export function localModel(origin: string | undefined): { model?: Model } {
  if (origin === undefined || origin === '') return {};
  return { model: openaiModel({ ...SETTINGS, baseURL: `${origin}/v1` }) };
}
