import { describe, expect, test } from 'vitest';
import { isNearbyAddress, isPublicAddress } from '../../src/targets/addresses.ts';

describe('an address', () => {
  test.each(['8.8.8.8', '203.0.112.1', '2a00:1450::1', '::ffff:8.8.8.8'])('%s is public', (one) => {
    expect(isPublicAddress(one)).toBe(true);
  });

  test.each(['127.0.0.1', '10.0.0.1', '192.168.0.1', '::1', 'fd00::1', '::ffff:127.0.0.1'])(
    '%s is nearby and not public',
    (one) => {
      expect([isPublicAddress(one), isNearbyAddress(one)]).toEqual([false, true]);
    },
  );

  test.each([
    ...['169.254.169.254', '168.63.129.16', '100.64.0.1', '0.0.0.0', '255.255.255.255'],
    ...['224.0.0.1', '192.0.0.192', '198.18.0.1', '240.0.0.1', 'fe80::1', 'fe80::1%eth0', '::'],
    ...['ff02::1', '64:ff9b::a9fe:a9fe', '2002:a9fe:a9fe::', '::ffff:169.254.169.254'],
    ...['', 'localhost'],
  ])('%s is neither', (one) => {
    expect([isPublicAddress(one), isNearbyAddress(one)]).toEqual([false, false]);
  });
});
