import type { ProviderSettings } from '../provider-settings.ts';
import { providerModel, type ProviderModel } from '../provider.ts';
import { anthropicSdk } from '../sdk.ts';
import { messagesWire } from './messages.ts';

const ANTHROPIC_URL = 'https://api.anthropic.com';
/** Longer than any call may last: the runtime alone ends calls. Milliseconds. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * A model of Anthropic.
 *
 * @throws InvalidInputError naming the setting that cannot be used; also for a model nobody knows the price of
 */
export function anthropicModel(options: ProviderSettings): ProviderModel {
  const given = { ...options, baseURL: options.baseURL ?? ANTHROPIC_URL };
  return providerModel(given, (settings) => {
    const { Anthropic, Stream } = anthropicSdk();
    // What the environment says about the SDK is none of its business here.
    const client = new Anthropic({
      apiKey: settings.apiKey,
      authToken: null,
      baseURL: settings.baseURL,
      webhookKey: null,
      openTelemetry: false,
      maxRetries: 0,
      timeout: NEVER_MS,
      logLevel: 'off',
    });
    return messagesWire({ client, settings, Stream });
  });
}
