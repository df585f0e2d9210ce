import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether a connection to this IP address may be opened. */
export type AddressRule = (address: string) => boolean;

/** Public by its number, but a host's own metadata service answers there. */
const METADATA_IN_PUBLIC_SPACE = '168.63.129.16';

const PRIVATE_RANGES = ['loopback', 'private', 'uniqueLocal'];

/** Only what the whole internet can reach. */
export function isPublicAddress(address: string): boolean {
  return rangeOf(address) === 'unicast';
}

/** Also this machine and the network around it; metadata services, link-local and other special ranges never. */
export function isNearbyAddress(address: string): boolean {
  return isPublicAddress(address) || PRIVATE_RANGES.includes(rangeOf(address));
}

/** An IPv4 address in IPv6 clothes counts as what it is; what cannot be read counts as nothing. */
function rangeOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unreadable';
  const parsed = ipaddr.process(address);
  return parsed.toString() === METADATA_IN_PUBLIC_SPACE ? 'metadata' : parsed.range();
}

/** The rule said no. Nothing was sent. */
export class AddressNotAllowedError extends Error {
  readonly code = 'address_not_allowed';

  constructor() {
    super('this address may not be connected to');
  }
}

/** The address a URL names itself, for which nobody asks a name server; undefined for a name. */
export function addressInUrl(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

/**
 * Looks a name up and hands on its addresses only if the rule allows every one. The connection is opened to exactly
 * what this returns, so a name that changes its answer afterwards changes nothing.
 */
export function checkedLookup(
  allowed: AddressRule,
  lookup: LookupFunction = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const addresses = typeof found === 'string' ? [asAddress(found)] : found;
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => allowed(address))) {
        return callback(new AddressNotAllowedError(), []);
      }
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function asAddress(address: string): LookupAddress {
  return { address, family: isIP(address) };
}
