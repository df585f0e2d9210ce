import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Canonical JSON (RFC 8785): equal values give equal text whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return canonicalize(value) ?? 'null';
}

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Size in bytes and first 16 hex digits of SHA-256 of a canonical JSON: what tells one result from another. */
export function measureOf(json: string): { size: number; hash: string } {
  return { size: Buffer.byteLength(json), hash: sha256(json).slice(0, 16) };
}

/** Short digest for names: 128 bits, url-safe, never all digits and without `:`. */
export function digest(...parts: readonly string[]): string {
  return `x${hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 21)}`;
}

/** The business purpose of a turn: the same for every retry, reprocess and supersede of its oldest message. */
export function intentOf(conversationId: string, oldestMessageId: string): string {
  return digest('intent', conversationId, oldestMessageId);
}

/** Digest over tool name and arguments: two proposals with the same hash are the same action. */
export function actionHash(tool: string, args: unknown): string {
  return sha256(`${tool}\n${canonicalJson(args)}`);
}

/**
 * The identity of an effect. It depends on nothing a retry could change: no round, no call index, no chance, no
 * counter. With scope `resource` the intent stays out, so that the operation is one whoever asks.
 */
export function operationKey(operation: {
  scope: 'intent' | 'resource';
  intent: string;
  tool: string;
  resource: string;
  occurrence: string;
}): string {
  const intent = operation.scope === 'intent' ? operation.intent : '';
  return digest('operation', intent, operation.tool, operation.resource, operation.occurrence);
}
