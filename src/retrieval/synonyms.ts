import { stem } from './words.ts';

/** Words customers and shops use for one thing. The first of a line stands for all of them. */
const GROUPS = [
  'parcel package packet shipment',
  'deliver delivery ship shipping dispatch',
  'cost fee price expensive cheap cheaper',
  'order purchase bought buy',
  'pay paid payment',
  'send sent',
  'take took taken',
  'keep kept',
  'use used',
  'item product article goods thing',
  'broken damaged damage cracked shattered defective faulty defect broke',
  'monitor screen display',
  'telephone phone hotline',
  'voucher coupon promo',
  'discount reduction rebate',
  'present gift',
  'warranty guarantee',
  'repair fix',
  'swap replace replacement',
  'missing incomplete',
  'login signin',
  'pickup collect',
  'tax vat',
  'customs duty duties import',
  'made produced manufactured origin',
  'showroom store',
  'complaint complain dissatisfied unhappy',
  'clean wash cleaning washing washed cleaned',
  'loud noise noisy louder',
  'courier carrier driver',
  'address street',
  'receipt bill',
  'firm company',
  'job jobs careers vacancy',
  'mail email',
  'holiday vacation',
  'duplicate twice',
  'delete erase',
  'notify informed inform tell',
  'rest remaining',
  'size colour color variant',
  'postpone delayed delay late later',
].map((line) => line.split(' ').map(stem));

const HEADS = new Map(GROUPS.flatMap((group) => group.map((word) => [word, group[0] ?? word])));

/** What a word stands for: its stem, or the stem its synonyms share. */
export function concept(word: string): string {
  const stemmed = stem(word);
  return HEADS.get(stemmed) ?? stemmed;
}
