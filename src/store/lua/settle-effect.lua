-- A person says what became of an effect nobody could tell.
-- KEYS  1 lane tag
-- ARGV  1 operation  2 verdict (verified | not_landed)  3 by  4 evidence  5 clock offset in ms  6 note about it, JSON {id, record}
-- Returns {'settled' | 'already', status, conversation, turn} | {'not-found'} | {'in-flight', conversation, turn}
-- Invariants: only a row that is neither verified nor refused is settled, and not while its own turn may still find out.
local row, verdict, now = key('op', ARGV[1]), ARGV[2], clock(ARGV[5])

local fields = redis.call('HMGET', row, 'status', 'conversation', 'turn')
local status, conversation, turn = fields[1], fields[2], fields[3]
if not status then return { 'not-found' } end
if redis.call('HGET', key('conv', conversation), 'turn') == turn then return { 'in-flight', conversation, turn } end
if status ~= 'unknown' and status ~= 'applied' and status ~= 'attempted' then
  return { 'already', status, conversation, turn }
end
redis.call('HSET', row, 'status', verdict, 'settledBy', ARGV[3], 'evidence', ARGV[4],
  verdict == 'verified' and 'verifiedAt' or 'settledAt', now)
redis.call('PEXPIRE', row, KEEP.ledgerMs)
redis.call('ZREM', key('unknown'), ARGV[1])
deliver(conversation, { cjson.decode(ARGV[6]) }, now)
return { 'settled', verdict, conversation, turn }
