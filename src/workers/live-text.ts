import { redactText } from '../telemetry/index.ts';

/** Between two looks at what a model writes. Milliseconds. */
const EVERY_MS = 250;
/** The last part that is shown, in UTF-16 units. */
const SHOWN = 2_000;

/**
 * Takes what a model writes piece by piece, and tells the end of it, masked, every now and then: an answer that comes at
 * once is not told.
 */
export function liveText(tell: (text: string) => void): (piece: string) => void {
  let text = '';
  let toldAt = Date.now();
  return (piece) => {
    text += piece;
    if (Date.now() - toldAt < EVERY_MS) return;
    toldAt = Date.now();
    // A word that is not whole yet could not be known for what it is.
    const whole = text.slice(0, text.search(/\S*$/));
    tell(redactText(whole).slice(-SHOWN));
  };
}
