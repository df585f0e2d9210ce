import { onTestFinished } from 'vitest';
import type { EventOf } from '../../src/contracts/index.ts';
import type { Model } from '../../src/loop/index.ts';
import { anthropicModel, openaiModel, type ProviderModel } from '../../src/models/index.ts';
import {
  startModelServer,
  type Api,
  type ModelServer,
  type Policy,
  type Said,
} from '../support/model-server/index.ts';
import { ticket } from '../support/rig.ts';
import { openShop, type ShopOptions } from './waiting-shop.ts';

const PRICES = { input: 1, output: 2 };

/** A model behind a server, by one of the APIs. */
export function modelAt(
  { origin }: ModelServer,
  api: Api,
  more: Partial<Parameters<typeof openaiModel>[0]> = {},
): ProviderModel {
  const { api: _api, reasoningEffort: _effort, ...shared } = more;
  const settings = { apiKey: 'k', model: 'm', prices: PRICES, maxOutputTokens: 500, ...shared };
  return api === 'messages'
    ? anthropicModel({ ...settings, baseURL: origin })
    : openaiModel({ ...settings, api, baseURL: `${origin}/v1` });
}

export async function endpoint(policy: Policy): Promise<ModelServer> {
  const server = await startModelServer(policy);
  onTestFinished(() => server.close());
  return server;
}

/** The shop with workers whose model is behind a real server. */
export async function openModelShop(model: Model, options: ShopOptions = {}) {
  const stage = await openShop({ model, ...options });
  await stage.startHost();
  const write = (conversationId: string, text = 'Cancel my order 1, please.') =>
    stage.accept(ticket({ conversationId, text }));
  /** The only turn of a conversation, once it has ended. */
  const ended = async (conversationId: string) => {
    for (;;) {
      const [turn] = await stage.records.turnsOf(`test/${conversationId}`);
      if (turn?.phase === 'ended') return turn;
    }
  };
  const failures = async (conversationId: string): Promise<EventOf<'model_failed'>[]> => {
    const [turn] = await stage.records.turnsOf(`test/${conversationId}`);
    return (turn?.events ?? []).flatMap((event) => (event.type === 'model_failed' ? [event] : []));
  };
  return { ...stage, write, ended, failures };
}

export const hello: { do: 'answer' } & Said = { do: 'answer', text: 'Hello.' };
