-- Ends a turn: record, ledger, history, facts, deliveries, owner and mailbox in one step. On request it goes on with the
-- conversation's next message in the same step.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 clock offset in ms  6 moves, JSON or ''  7 outcome  8 reason
--       9 history entry, JSON  10 deliveries, JSON [{id, record}] or ''  11 facts, JSON [resource, fact JSON, ...] or ''
--       12 '1' if it hands over to people  13 claimer of the next turn, JSON as in claim-turn, or ''
--       14 ids of the answered messages, each followed by a comma  15 account of the conversation, JSON
--       16 the stop the turn knows of already, '' if none  17.. events, JSON each
-- Returns {'stopped', signal JSON} when somebody asked it to stop before this step
--       | {'committed', messages still waiting, unsettled deliveries, claim of the next turn or {}} | {'lost-claim'}
-- Invariants: the messages leave the mailbox with the outcome that answers them, never before; a repeat changes nothing. A
-- superseded turn answers none: they go to the next turn together with those behind them.
local conversation, turn, token = ARGV[1], ARGV[2], ARGV[3]
local seq, now = tonumber(ARGV[4]), clock(ARGV[5])
local claimer = ARGV[13] ~= '' and cjson.decode(ARGV[13])
local conv, mail, record = key('conv', conversation), key('mail', conversation), key('turn', turn)
local outbox, superseded = key('outbox', conversation), ARGV[8] == 'superseded'
local state = redis.call('HMGET', conv, 'token', 'epoch', 'owner', 'turn', 'signal')
local epoch, owner = tonumber(state[2] or 0), state[3] or 'agent'

if state[1] ~= token then
  -- The claim of the next turn went with the lost answer: it is handed out again under the same nonce.
  if claimer and state[1] == epoch .. '-' .. claimer.nonce and state[4] == claimer.candidate then
    local waiting = redis.call('LLEN', mail)
    return { 'committed', waiting, redis.call('LLEN', outbox),
      open_turn(conversation, claimer, epoch, owner, now, waiting, superseded, ARGV[15]) }
  end
  return { 'lost-claim' }
end
local signal = unheeded(state[5], ARGV[16])
if signal and redis.call('LLEN', key('events', turn)) == seq then return { 'stopped', signal } end
if not append(turn, seq, 17) then
  return { 'committed', redis.call('LLEN', mail), redis.call('LLEN', outbox), {} }
end
if ARGV[6] ~= '' then move(cjson.decode(ARGV[6]), now) end

local case = redis.call('HMGET', record, 'given', 'batch', 'reprocessOf', 'approval')
local answered = case[1] and cjson.decode(case[1]) or {}
for message in string.gmatch(ARGV[14], '[^,]+') do
  if not case[1] then answered[#answered + 1] = redis.call('LPOP', mail) end
  redis.call('SET', key('msg', message), turn, 'PX', KEEP.claimsMs)
end
if case[1] then
  redis.call('LPOP', key('cases', conversation))
  finish_case(case[2], case[3], { turn = case[3], as = turn, outcome = ARGV[7], reason = ARGV[8] })
end
if superseded then
  answered = redis.call('LRANGE', mail, 0, tonumber(redis.call('HGET', record, 'messages')) - 1)
  redis.call('HSET', conv, 'merge', '1')
end
if state[5] then redis.call('HSET', record, 'signal', state[5]) end
redis.call('HSET', conv, 'account', ARGV[15])
redis.call('HSET', record, 'outcome', ARGV[7], 'reason', ARGV[8], 'endedAt', now, 'parkDueAt', '',
  'answered', '[' .. table.concat(answered, ',') .. ']')
redis.call('ZADD', key('ended'), now, turn)
local approval = case[4]
if approval and approval ~= '' then
  if redis.call('HGET', key('approval', approval), 'status') == 'pending' then
    redis.call('HSET', key('approval', approval), 'status', 'cancelled', 'by', 'turn ended', 'comment', '',
      'decidedAt', string.format('%.0f', now))
    redis.call('ZREM', key('approvals'), approval)
  end
  redis.call('PEXPIRE', key('approval', approval), KEEP.turnsMs)
end

if redis.call('RPUSH', key('hist', conversation), ARGV[9]) > KEEP.historyKept then
  redis.call('LPOP', key('hist', conversation))
end
if ARGV[11] ~= '' then redis.call('HSET', key('facts', conversation), unpack(cjson.decode(ARGV[11]))) end
local unsettled = deliver(conversation, ARGV[10] ~= '' and cjson.decode(ARGV[10]) or {}, now)

redis.call('HDEL', conv, 'turn', 'signal', 'stuck', 'lost', 'heldUntil')
if ARGV[12] == '1' then
  owner = 'human'
  redis.call('HSET', conv, 'owner', owner)
end

local waiting = redis.call('LLEN', mail)
if waiting > 0 and claimer and not burst_until(conversation, owner, claimer.burstMs or 0, now) then
  return { 'committed', waiting, unsettled, open_turn(conversation, claimer, epoch + 1, owner, now, waiting, superseded, ARGV[15]) }
end
redis.call('ZREM', key('behind'), conversation)
-- A case that waits goes on in the same job, but in a claim of its own.
if waiting == 0 then waiting = redis.call('LLEN', key('cases', conversation)) end
if waiting > 0 then
  redis.call('ZADD', key('due'), now + KEEP.slackMs, conversation)
else
  redis.call('ZREM', key('due'), conversation)
  redis.call('ZADD', key('quiet'), now, conversation)
end
return { 'committed', waiting, unsettled, {} }
