import type { DatabaseSync } from 'node:sqlite';
import { Conversation } from './model.ts';
import type { ConversationSeed, Message } from './model.ts';

export const TABLES = `
CREATE TABLE IF NOT EXISTS conversations (
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, status TEXT NOT NULL, mergedInto TEXT);
CREATE TABLE IF NOT EXISTS messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, conversation_id TEXT NOT NULL, document TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS messages_conversation ON messages (conversation_id, seq);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, document TEXT NOT NULL);
`;

/** The conversations and what was written into them, in order. */
export class ConversationBook {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  find(id: string): Conversation | undefined {
    const row = this.#db
      .prepare('SELECT id, owner, status, mergedInto FROM conversations WHERE id = ?')
      .get(id);
    return row === undefined ? undefined : Conversation.parse(row);
  }

  all(): Conversation[] {
    const rows = this.#db
      .prepare('SELECT id, owner, status, mergedInto FROM conversations ORDER BY id')
      .all();
    return rows.map((row) => Conversation.parse(row));
  }

  /** Opens the conversation when it is new; changes only what is named. */
  set(seed: ConversationSeed): Conversation {
    const before = this.find(seed.id) ?? newConversation(seed.id);
    const conversation: Conversation = {
      id: seed.id,
      owner: seed.owner ?? before.owner,
      status: seed.status ?? before.status,
      mergedInto: seed.mergedInto === undefined ? before.mergedInto : seed.mergedInto,
    };
    this.#db
      .prepare(
        'INSERT OR REPLACE INTO conversations (id, owner, status, mergedInto) VALUES (?, ?, ?, ?)',
      )
      .run(conversation.id, conversation.owner, conversation.status, conversation.mergedInto);
    return conversation;
  }

  /** Adds a message under the next id. Nothing is looked up: writing twice is two messages. */
  add(conversationId: string, message: Omit<Message, 'id'>): Message {
    const row = this.#db.prepare('SELECT coalesce(max(seq), 0) + 1 AS next FROM messages').get();
    const added: Message = { id: `msg-${Number(row?.['next'])}`, ...message };
    this.#db
      .prepare('INSERT INTO messages (conversation_id, document) VALUES (?, ?)')
      .run(conversationId, JSON.stringify(added));
    return added;
  }

  messagesOf(conversationId: string): Message[] {
    return this.#db
      .prepare('SELECT document FROM messages WHERE conversation_id = ? ORDER BY seq')
      .all(conversationId)
      .map((row) => JSON.parse(String(row['document'])) as Message);
  }
}

export function newConversation(id: string): Conversation {
  return { id, owner: 'agent', status: 'open', mergedInto: null };
}
