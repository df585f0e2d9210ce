/** Everything the service keeps, besides the log. Documents are JSON of the types in model.ts. */
export const TABLES = `
CREATE TABLE IF NOT EXISTS orders (
  id TEXT PRIMARY KEY, customer_id TEXT NOT NULL, due_at INTEGER, document TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS orders_due ON orders (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS orders_customer ON orders (customer_id);

-- Every version an order ever had: what the lagging replica answers from.
CREATE TABLE IF NOT EXISTS order_versions (
  order_id TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL, document TEXT NOT NULL,
  PRIMARY KEY (order_id, version));

CREATE TABLE IF NOT EXISTS refunds (
  id TEXT PRIMARY KEY, order_id TEXT NOT NULL, line_id TEXT, amount INTEGER NOT NULL, reason TEXT NOT NULL,
  status TEXT NOT NULL, idempotency_key TEXT, created_at TEXT NOT NULL, due_at INTEGER);
CREATE INDEX IF NOT EXISTS refunds_order ON refunds (order_id);
CREATE INDEX IF NOT EXISTS refunds_key ON refunds (idempotency_key);
CREATE INDEX IF NOT EXISTS refunds_due ON refunds (due_at) WHERE due_at IS NOT NULL;

-- One row per key that led to a success. A refused call leaves none.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  key TEXT PRIMARY KEY, order_id TEXT NOT NULL, fingerprint TEXT NOT NULL, answer TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, document TEXT NOT NULL);
`;
