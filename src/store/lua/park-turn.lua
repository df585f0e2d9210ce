-- Puts a turn to rest without a worker until a re-read, a person or a time wakes it.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 phase after  6 clock offset in ms  7 ledger time-out in ms
--       8 slack in ms  9 moves, JSON or ''  10 park, JSON {number, kind, dueAt, ...}  11 approval id or ''  12 approval, JSON or ''
--       13 deliveries, JSON [{id, record}] or ''  14.. events, JSON each
-- Returns {'parked', unsettled deliveries} | {'lost-claim'}
-- Invariants: an approval is created once and its decision is never overwritten; a repeat answers {'parked'}.
local conversation, turn, token = ARGV[1], ARGV[2], ARGV[3]
local seq, phase = tonumber(ARGV[4]), ARGV[5]
local now, ledgerMs, slackMs = clock(ARGV[6]), ARGV[7], tonumber(ARGV[8])
local park, approval = cjson.decode(ARGV[10]), ARGV[11]
local outbox = key('outbox', conversation)

if not holds(conversation, token) then return { 'lost-claim' } end
if not append(turn, seq, 14) then return { 'parked', redis.call('LLEN', outbox) } end
if ARGV[9] ~= '' then move(cjson.decode(ARGV[9]), now, ledgerMs) end
local dueAt = string.format('%.0f', park.dueAt)
redis.call('HSET', key('turn', turn), 'phase', phase, 'park', ARGV[10], 'parkNumber', park.number,
  'parkDueAt', dueAt, 'woken', '', 'approval', approval)
if approval ~= '' and redis.call('EXISTS', key('approval', approval)) == 0 then
  redis.call('HSET', key('approval', approval), 'request', ARGV[12], 'status', 'pending', 'expiresAt', dueAt,
    'conversation', conversation, 'turn', turn)
  redis.call('ZADD', key('approvals'), dueAt, approval)
end
if ARGV[13] ~= '' then deliver(conversation, cjson.decode(ARGV[13]), now, slackMs) end
redis.call('HSET', key('conv', conversation), 'idle', '0', 'stuck', 0, 'lost', 0)
redis.call('ZADD', key('due'), park.dueAt + slackMs, 't:' .. conversation)
return { 'parked', redis.call('LLEN', outbox) }
