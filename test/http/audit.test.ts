import { expect, test } from 'vitest';
import { AuditLog, type AuditRecord } from '../../src/store/audit.ts';
import { openStore } from '../support/store.ts';
import { startService } from './service.ts';

async function openLog(records = 0) {
  const { store, redis, prefix } = await openStore();
  const audit = new AuditLog(store);
  for (let index = 0; index < records; index += 1) await audit.append(entry(`t${index + 1}`));
  const place = `{${prefix}0}:audit`;
  const head = `{${prefix}0}:audithead`;
  const edit = async (seq: number, change: (record: AuditRecord) => object): Promise<void> => {
    const json = await redis.lindex(place, seq - 1);
    const record = JSON.parse(json ?? '') as AuditRecord;
    await redis.lset(place, seq - 1, JSON.stringify(change(record)));
  };
  return { ...{ store, redis, audit, place, head, edit } };
}

function entry(object: string) {
  const actor = { id: 'k1', name: 'ana' };
  return { actor, action: 'turn.cancel', object, from: '127.0.0.1', reason: 'because' };
}

test('records are numbered without a gap and chained, also when many processes write at once', async () => {
  const { store, audit } = await openLog();
  const logs = Array.from({ length: 5 }, () => new AuditLog(store));
  await Promise.all(
    logs.flatMap((log) => ['a', 'b', 'c', 'd'].map((one) => log.append(entry(one)))),
  );
  const records = await audit.records(1, 100);
  expect(records.map(({ seq }) => seq)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  expect(await audit.verify()).toEqual({ kind: 'whole', records: 20, head: await audit.head() });
});

test('any changed field of any record is found and named, and so is a swap', async () => {
  const { audit, edit, redis, place } = await openLog(5);
  const changes: [number, (record: AuditRecord) => object][] = [
    [3, (record) => ({ ...record, reason: 'Because' })],
    [1, (record) => ({ ...record, at: record.at + 1 })],
    [5, (record) => ({ ...record, actor: { ...record.actor, name: 'bo' } })],
    [2, (record) => ({ ...record, more: true })],
    [4, (record) => ({ ...record, result: 'requested' })],
    [3, (record) => ({ ...record, hash: record.hash.replace(/^./, 'f') })],
  ];
  for (const [seq, change] of changes) {
    const original = (await redis.lindex(place, seq - 1)) ?? '';
    await edit(seq, change);
    expect(await audit.verify()).toMatchObject({ kind: 'broken', seq });
    await redis.lset(place, seq - 1, original);
    expect(await audit.verify()).toMatchObject({ kind: 'whole' });
  }
  const [second = '', third = ''] = await redis.lrange(place, 1, 2);
  await redis.lset(place, 1, third);
  await redis.lset(place, 2, second);
  expect(await audit.verify()).toEqual({ kind: 'broken', seq: 2, problem: 'missing' });
});

test('a record that is taken out, from the middle or from the end, is named as missing', async () => {
  const middle = await openLog(5);
  await middle.redis.lrem(middle.place, 1, (await middle.redis.lindex(middle.place, 2)) ?? '');
  expect(await middle.audit.verify()).toEqual({ kind: 'broken', seq: 3, problem: 'missing' });
  const end = await openLog(5);
  await end.redis.rpop(end.place);
  expect(await end.audit.verify()).toEqual({ kind: 'broken', seq: 5, problem: 'missing' });
  // What is written afterwards does not hide the gap.
  await end.audit.append(entry('t6'));
  expect(await end.audit.verify()).toEqual({ kind: 'broken', seq: 5, problem: 'missing' });
});

test('a record that was written anew with a hash that fits is found by the one behind it', async () => {
  const { audit, redis, place, edit, store } = await openLog(3);
  const other = await openLog();
  await other.audit.append(entry('t1'));
  const forged = await new AuditLog(other.store).append(entry('somebody else'));
  const { previous } = JSON.parse((await redis.lindex(place, 1)) ?? '') as AuditRecord;
  expect(forged.previous).not.toBe(previous);
  await edit(2, () => forged);
  expect(await audit.verify()).toMatchObject({ kind: 'broken', problem: 'changed' });
  expect(store).not.toBe(other.store);
});

test('a head that was kept elsewhere shows that the end was cut off, even when the head was set back with it', async () => {
  const { audit, redis, place, head } = await openLog(5);
  const witness = await audit.head();
  await redis.ltrim(place, 0, 2);
  const last = JSON.parse((await redis.lindex(place, 2)) ?? '') as AuditRecord;
  await redis.hset(head, { seq: 3, hash: last.hash });
  expect(await audit.verify()).toMatchObject({ kind: 'whole', records: 3 });
  expect(await audit.verify(witness)).toEqual({ kind: 'broken', seq: 4, problem: 'missing' });
});

test('a log longer than one read is walked to its end', async () => {
  const { audit, redis, place } = await openLog(1);
  for (let index = 0; index < 1_100; index += 1) await audit.append(entry('x'));
  expect(await audit.verify()).toMatchObject({ kind: 'whole', records: 1_101 });
  await redis.lset(place, 1_050, 'rubbish');
  expect(await audit.verify()).toEqual({ kind: 'broken', seq: 1_051, problem: 'unreadable' });
});

test('auditors read and verify the log over HTTP, with the head they kept', async () => {
  const { call, tokenFor, audit } = await startService();
  const token = await tokenFor(['auditor']);
  await audit.append(entry('t1'));
  const { body } = await call<{ records: unknown[]; head: { seq: number; hash: string } }>(
    'GET',
    '/v1/audit',
    { token },
  );
  expect(body).toMatchObject({ records: [{ seq: 1, object: 't1' }], head: { seq: 1 } });
  const path = `/v1/audit/verification?head=${body.head.seq}:${body.head.hash}`;
  expect((await call('GET', path, { token })).body).toMatchObject({ kind: 'whole', records: 1 });
  const other = `/v1/audit/verification?head=1:${'0'.repeat(64)}`;
  expect((await call('GET', other, { token })).body).toMatchObject({ kind: 'broken', seq: 1 });
});
