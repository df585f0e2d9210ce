export type Life = 'open' | 'resolved' | 'closed' | 'merged' | 'deleted';
export type Hand = 'customer' | 'us' | 'human';

export type FakeMessage = {
  id: number;
  ticketId: number;
  by: Hand;
  public: boolean;
  text: string;
  /** What the caller of the API put on it besides: metadata, preferences, attributes. */
  extra: Record<string, unknown>;
  /** Milliseconds since the epoch. */
  at: number;
};

export type FakeTicket = {
  id: number;
  life: Life;
  /** The system's own word for how it stands. */
  status: string;
  assignee: 'us' | 'human' | 'nobody';
  tags: string[];
  createdAt: number;
  updatedAt: number;
  messages: FakeMessage[];
};

/** The tickets of one desk: what its API answers from, and what tests judge by. */
export class Book {
  readonly tickets = new Map<number, FakeTicket>();
  readonly #firstStatus: string;
  #ticketId: number;
  #messageId: number;

  constructor(firstIds: { ticket: number; message: number }, firstStatus: string) {
    this.#ticketId = firstIds.ticket;
    this.#messageId = firstIds.message;
    this.#firstStatus = firstStatus;
  }

  open(): FakeTicket {
    const id = this.#ticketId++;
    const at = Date.now();
    const ticket: FakeTicket = {
      id,
      life: 'open',
      status: this.#firstStatus,
      assignee: 'nobody',
      tags: [],
      createdAt: at,
      updatedAt: at,
      messages: [],
    };
    this.tickets.set(id, ticket);
    return ticket;
  }

  /** @throws RangeError when there is no such ticket: a mistake of the test */
  ticket(externalId: string): FakeTicket {
    const ticket = this.tickets.get(Number(externalId));
    if (ticket === undefined) throw new RangeError(`there is no ticket ${externalId}`);
    return ticket;
  }

  add(ticket: FakeTicket, message: Omit<FakeMessage, 'id' | 'ticketId' | 'at'>): FakeMessage {
    const added = { ...message, id: this.#messageId++, ticketId: ticket.id, at: Date.now() };
    ticket.messages.push(added);
    this.touch(ticket);
    return added;
  }

  /** Each change is a second of its own, so that a stamp in seconds tells them apart. */
  touch(ticket: FakeTicket): void {
    ticket.updatedAt = Math.max(Date.now(), ticket.updatedAt + 1_000);
  }
}
