import type { DatabaseSync } from 'node:sqlite';
import { CallRunner } from '../service/call-runner.ts';
import { inTransaction, openDatabase } from '../service/database.ts';
import { EventLog } from '../service/event-log.ts';
import { FaultScript } from '../service/fault-script.ts';
import { ConversationBook, TABLES } from './conversation-book.ts';
import { DeskSettings } from './model.ts';
import type { Message } from './model.ts';

/** Everything one ticket desk holds. */
export interface Desk {
  db: DatabaseSync;
  conversations: ConversationBook;
  log: EventLog;
  faults: FaultScript;
  calls: CallRunner;
  /** Epoch ms. */
  now: () => number;
}

export function openDesk(dataFile: string, now: () => number, closing: AbortSignal): Desk {
  const db = openDatabase(dataFile, TABLES);
  const log = new EventLog(db, now);
  const faults = new FaultScript();
  return {
    db,
    conversations: new ConversationBook(db),
    log,
    faults,
    calls: new CallRunner({ db, log, faults, closing }),
    now,
  };
}

/** Stores a message and logs it as an effect, with who owned the conversation at that moment. */
export function writeMessage(
  desk: Desk,
  conversationId: string,
  message: Omit<Message, 'id' | 'at'>,
): Message {
  return inTransaction(desk.db, () => {
    const conversation = desk.conversations.set({ id: conversationId });
    const at = new Date(desk.now()).toISOString();
    const written = desk.conversations.add(conversationId, { ...message, at });
    desk.log.append(
      'effect',
      `applied:${message.kind}:${conversationId}`,
      { operation: message.kind, subject: conversationId },
      {
        conversationId,
        messageId: written.id,
        author: written.author,
        text: written.text,
        reference: written.reference,
        ownerAtThatMoment: conversation.owner,
        statusAtThatMoment: conversation.status,
      },
    );
    return written;
  });
}

const DEFAULTS: DeskSettings = { unknownConversation: 'create', closedConversation: 'accept' };

/** The switches, kept in the database. */
export function settingsOf(desk: Desk): DeskSettings {
  const row = desk.db.prepare("SELECT document FROM settings WHERE name = 'current'").get();
  return row === undefined ? DEFAULTS : DeskSettings.parse(JSON.parse(String(row['document'])));
}

export function keepSettings(desk: Desk, settings: DeskSettings): void {
  desk.db
    .prepare("INSERT OR REPLACE INTO settings (name, document) VALUES ('current', ?)")
    .run(JSON.stringify(settings));
}
