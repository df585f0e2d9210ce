import { providerModel, type ProviderModel } from '../provider.ts';
import { openaiSdk } from '../sdk.ts';
import { chatWire } from './chat.ts';
import { responsesWire } from './responses.ts';
import { OPENAI_URL, type OpenAISettings } from './settings.ts';

/** Longer than any call may last: the runtime alone ends calls. Milliseconds. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * A model of OpenAI, or of any server that speaks one of its APIs.
 *
 * @throws InvalidInputError naming the setting that cannot be used; also for a model nobody knows the price of
 */
export function openaiModel(options: OpenAISettings): ProviderModel {
  const given = { ...options, baseURL: options.baseURL ?? OPENAI_URL };
  return providerModel(given, (settings) => {
    const { OpenAI, Stream } = openaiSdk();
    // What the environment says about the SDK is none of its business here.
    const client = new OpenAI({
      apiKey: settings.apiKey,
      baseURL: settings.baseURL,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      maxRetries: 0,
      timeout: NEVER_MS,
      logLevel: 'off',
    });
    const wiring = { client, settings, Stream };
    return settings.api === 'chat' ? chatWire(wiring) : responsesWire(wiring);
  });
}
