-- Puts a turn to rest without a worker until a re-read, a person or a time wakes it.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 clock offset in ms  6 moves, JSON or ''
--       7 park, JSON {number, kind, dueAt, ...}  8 approval id or ''  9 approval, JSON or ''
--       10 deliveries, JSON [{id, record}] or ''  11 the stop the turn knows of already, '' if none
--       12 '1' if a further message of the same requester ends the turn  13.. events, JSON each
-- Returns {'parked', unsettled deliveries} | {'stopped', signal JSON} | {'lost-claim'}
-- Invariants: an approval is created once and its decision is never overwritten; a repeat answers {'parked'}.
local conversation, turn, token, seq = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local now, park, approval = clock(ARGV[5]), cjson.decode(ARGV[7]), ARGV[8]
local outbox = key('outbox', conversation)

if not holds(conversation, token) then return { 'lost-claim' } end
local signal = unheeded(redis.call('HGET', key('conv', conversation), 'signal'), ARGV[11])
if signal and redis.call('LLEN', key('events', turn)) == seq then return { 'stopped', signal } end
local record = key('turn', turn)
-- What the same person wrote while the turn was at work ends the wait as it would have later: the next turn takes it as
-- well. One that holds as many messages as a turn may waits all the same.
if ARGV[12] == '1' and not signal and redis.call('LLEN', key('events', turn)) == seq then
  local taken, mail = tonumber(redis.call('HGET', record, 'messages') or 1), key('mail', conversation)
  if taken < MERGED and redis.call('LLEN', mail) > taken and redis.call('HEXISTS', record, 'given') == 0
    and same_requester(redis.call('LINDEX', mail, 0), redis.call('LINDEX', mail, taken)) then
    local _, asked = signal_stop(conversation, turn, '{"cause":"superseded"}', now)
    if park.kind ~= 'verification' then return { 'stopped', asked } end
  end
end
if not append(turn, seq, 13) then return { 'parked', redis.call('LLEN', outbox) } end
if ARGV[6] ~= '' then move(cjson.decode(ARGV[6]), now) end
local dueAt = string.format('%.0f', park.dueAt)
-- The answer may have come while the turn was on its way back to waiting for it: then there is nothing to wait for.
local status = approval ~= '' and redis.call('HGET', key('approval', approval), 'status')
local decided = status and status ~= 'pending'
local head = { 'parkKind', park.kind, 'parkNumber', park.number, 'parkDueAt', dueAt }
local function tell(field, value)
  if value then head[#head + 1], head[#head + 2] = field, value end
end
tell('woken', decided and '1')
tell('approval', approval ~= '' and approval)
tell('supersede', ARGV[12] == '1' and redis.call('HEXISTS', record, 'given') == 0 and '1')
redis.call('HDEL', record, 'woken', 'approval', 'supersede')
redis.call('HSET', record, unpack(head))
redis.call('ZADD', key('parked', park.kind), string.format('%.0f', now), conversation)
if approval ~= '' and not status then
  redis.call('HSET', key('approval', approval), 'request', ARGV[9], 'status', 'pending', 'expiresAt', dueAt,
    'conversation', conversation, 'turn', turn)
  redis.call('ZADD', key('approvals'), dueAt, approval)
end
if ARGV[10] ~= '' then deliver(conversation, cjson.decode(ARGV[10]), now) end
redis.call('ZADD', key('due'), decided and now or park.dueAt + KEEP.slackMs, conversation)
return { 'parked', redis.call('LLEN', outbox) }
