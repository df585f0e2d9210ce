import { createHmac } from 'node:crypto';
import { SECRET } from './vendor.ts';

export function signature(
  algorithm: 'sha1' | 'sha256',
  encoding: 'hex' | 'base64',
  signed: string,
): string {
  return createHmac(algorithm, SECRET).update(signed).digest(encoding);
}
