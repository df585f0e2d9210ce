import type { View } from '../../../src/index.ts';

/** What a customer may want, as far as this agent tells it apart. The first one that fits counts. */
export type Wish =
  | 'nothing'
  | 'legal'
  | 'data_request'
  | 'replacement'
  | 'refund_status'
  | 'keep'
  | 'cancel'
  | 'defect'
  | 'return'
  | 'refund'
  | 'order_status'
  | 'other';

export type Reading = {
  wish: Wish;
  /** Order numbers in the order they were written, each once. */
  orderIds: readonly string[];
  /** The cleaned words, for matching against what was bought. */
  text: string;
  /** Nothing but white space and attachments. */
  blank: boolean;
};

const WORDS: readonly (readonly [Wish, RegExp])[] = [
  ['legal', /charge-?back|lawyer|attorney|abogad|avocat|anwalt/],
  [
    'data_request',
    /(delete|erase|remove|borrar?|eliminar|supprimer|lösch\w*)\b.{0,60}\b(data|datos|données|daten)/,
  ],
  ['replacement', /\breplace|\bexchange\b|umtausch|reemplaz|remplac/],
  [
    'refund_status',
    /where.{0,20}(refund|money)|(bank|account) shows nothing|(dónde|où|wo) .{0,20}(reembolso|remboursement|erstattung)/,
  ],
  ['keep', /\bkeep (it|the order|my order)|(do not|don't) cancel|changed my mind|\bwait,? no\b/],
  ['cancel', /\bcancel(?!l?ed)|\bstorn|annul|إلغاء/],
  [
    'defect',
    /broken|defect|damaged|chipped|cracked|flicker|(does not|doesn't|not) work|kaputt|\brot[oa]\b|cassé|لا يعمل|مكسور/,
  ],
  ['return', /\breturn\b|zurücksend|zurückgeben|devolver|retourner|renvoyer|إرجاع/],
  ['refund', /refund|money back|reembols|rembours|erstatt|geld zurück|استرداد/],
  [
    'order_status',
    /where.{0,20}order|when will|\bstatus\b|tracking|arrived|not moving|and nothing|any news|dónde está|où est|wo ist|أين/,
  ],
];

/** Reads the text of a turn. Never looks at who wrote it or at what a system says about it. */
export function readWish(view: View): Reading {
  const body = clean(view.messages.map(({ text }) => withoutQuotes(text)).join('\n'));
  const subject = clean(view.messages.map((message) => message.subject ?? '').join('\n'));
  const text = `${subject}\n${body}`;
  const wish = isNothing(body)
    ? 'nothing'
    : (WORDS.find(([, words]) => words.test(text))?.[0] ?? 'other');
  return { wish, orderIds: orderIdsIn(text), text, blank: body === '' };
}

/** Order numbers in a text: `10-48300`, `#4482`, `order 4482`. */
export function orderIdsIn(text: string): readonly string[] {
  const found = clean(text).matchAll(
    /(?<![\d-])(\d{2}-\d{4,6})(?![\d-])|(?:#|\b(?:order|pedido|commande|bestellung)(?: number| no\.?)? #?)(\d{4,10})\b/g,
  );
  return [...new Set([...found].map(([, dashed, plain]) => dashed ?? plain ?? ''))];
}

const COUNTS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  that: 1,
  un: 1,
  una: 1,
  une: 1,
  ein: 1,
  eine: 1,
  two: 2,
  three: 3,
  four: 4,
};
const ALL = new Set(['both', 'all', 'beide', 'ambos']);

/** How many pieces of something the text speaks of: "one of the two glasses", "both pans"; nothing when it does not say. */
export function countIn(text: string, name: string, quantity: number): number | undefined {
  for (const stem of stemsOf(name)) {
    const places = text.matchAll(
      new RegExp(`([\\p{L}\\d]+)(?: of (?:the |my )?[\\p{L}\\d]+)? ${stem}`, 'gu'),
    );
    for (const [, said = ''] of places) {
      if (ALL.has(said)) return quantity;
      const count = COUNTS[said] ?? (/^\d{1,2}$/.test(said) ? Number(said) : undefined);
      if (count !== undefined) return count;
    }
  }
  return undefined;
}

export function mentions(text: string, name: string): boolean {
  return stemsOf(name).some((stem) => new RegExp(`(?<!\\p{L})${stem}`, 'u').test(text));
}

function stemsOf(name: string): string[] {
  return name.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
}

/** Letters of other alphabets that pass for Latin ones. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  х: 'x',
};

/** Lower case, one kind of dash, Western digits; without marks and controls nobody sees. */
function clean(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}|(?!\n)\p{Cc}/gu, '')
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replaceAll(/[аеорсх]/g, (letter) => LOOK_ALIKES[letter] ?? letter)
    .replaceAll('’', "'")
    .toLowerCase()
    .trim();
}

/** What somebody else wrote earlier is not the wish of today. */
function withoutQuotes(text: string): string {
  const [own = ''] = text.split(/^On .{5,200} wrote:$/m);
  return own.replaceAll(/^>.*$/gm, '');
}

/** Thanks and bounces want no answer. */
function isNothing(body: string): boolean {
  const thanks = /^(many |ok,? |great,? )?(thank|thx|gracias|merci|danke|شكرا)/.test(body);
  return (
    (thanks && body.length <= 60 && !body.includes('?')) ||
    body.includes('this is the mail system at host')
  );
}
