import { InvalidArgumentError } from 'commander';

/** Reads an option such as `--limit 20`. @throws InvalidArgumentError */
export function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  };
}
