export { cleanLine } from './clean.ts';
export { looksLikeHtml } from './html.ts';
export { readBody, type Attachment, type Body, type MessageText } from './message-text.ts';
