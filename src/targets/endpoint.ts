import { InvalidInputError } from '../contracts/index.ts';

/**
 * The URL of an outside system, checked once. Plain http and its readable secrets are for development.
 *
 * @throws InvalidInputError when it is no URL, has credentials in it, or is plain http outside development
 */
export function endpointOf(field: string, text: string, development: boolean): URL {
  if (!URL.canParse(text)) {
    throw new InvalidInputError(field, text, 'give a whole URL such as https://desk.example.com');
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw new InvalidInputError(field, url.origin, 'take user and password out of the URL');
  }
  if (url.protocol === 'https:' || (development && url.protocol === 'http:')) return url;
  throw new InvalidInputError(field, url.origin, 'use https; http is for development only');
}
