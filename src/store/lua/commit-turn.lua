-- Ends a turn: record, ledger, history, facts, deliveries, owner and mailbox in one step. On request it goes on with the
-- conversation's next message in the same step.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 clock offset in ms  6 ledger time-out in ms  7 slack in ms
--       8 moves, JSON or ''  9 outcome  10 reason  11 history entry, JSON  12 deliveries, JSON [{id, record}] or ''
--       13 facts, JSON [resource, fact JSON, ...] or ''  14 '1' if it hands over to people  15 turn time-out in ms
--       16 claim time-out in ms  17 conversation time-out in ms  18 history entries kept
--       19 claimer of the next turn, JSON as in claim-turn, or ''  20.. events, JSON each
-- Returns {'committed', messages still waiting, unsettled deliveries, claim of the next turn or {}} | {'lost-claim'}
-- Invariants: the messages leave the mailbox with the outcome that answers them, never before; a repeat changes nothing.
local conversation, turn, token = ARGV[1], ARGV[2], ARGV[3]
local seq, now, ledgerMs, slackMs = tonumber(ARGV[4]), clock(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local turnMs, claimMs, convMs = ARGV[15], ARGV[16], ARGV[17]
local conv, mail, record = key('conv', conversation), key('mail', conversation), key('turn', turn)
local state = redis.call('HMGET', conv, 'token', 'epoch', 'owner', 'idle', 'nonce', 'turn')
local epoch, owner = tonumber(state[2] or 0), state[3] or 'agent'

if state[1] ~= token then
  -- The claim of the next turn went with the lost answer: it is handed out again under the same nonce.
  local claimer = ARGV[19] ~= '' and cjson.decode(ARGV[19])
  if claimer and state[5] == claimer.nonce and state[6] == claimer.candidate then
    return { 'committed', redis.call('LLEN', mail), redis.call('LLEN', key('outbox', conversation)),
      open_turn(conversation, claimer, epoch, owner, now) }
  end
  return { 'lost-claim' }
end
if not append(turn, seq, 20) then
  return { 'committed', redis.call('LLEN', mail), redis.call('LLEN', key('outbox', conversation)), {} }
end
if ARGV[8] ~= '' then move(cjson.decode(ARGV[8]), now, ledgerMs) end

local head = redis.call('HMGET', record, 'messages', 'approval')
local answered = {}
for _ = 1, tonumber(head[1]) do
  local json = redis.call('LPOP', mail)
  answered[#answered + 1] = json
  redis.call('SET', key('msg', cjson.decode(json).id), turn, 'PX', claimMs)
end
redis.call('HSET', record, 'phase', 'ended', 'outcome', ARGV[9], 'reason', ARGV[10], 'endedAt', now,
  'parkDueAt', '', 'answered', '[' .. table.concat(answered, ',') .. ']')
redis.call('PEXPIRE', record, turnMs)
redis.call('PEXPIRE', key('events', turn), turnMs)
redis.call('ZADD', key('ended'), now, turn)
local approval = head[2]
if approval and approval ~= '' then
  if redis.call('HGET', key('approval', approval), 'status') == 'pending' then
    redis.call('HSET', key('approval', approval), 'status', 'cancelled', 'by', 'turn ended', 'comment', '',
      'decidedAt', string.format('%.0f', now))
    redis.call('ZREM', key('approvals'), approval)
  end
  redis.call('PEXPIRE', key('approval', approval), turnMs)
end

if redis.call('RPUSH', key('hist', conversation), ARGV[11]) > tonumber(ARGV[18]) then
  redis.call('LPOP', key('hist', conversation))
end
if ARGV[13] ~= '' then redis.call('HSET', key('facts', conversation), unpack(cjson.decode(ARGV[13]))) end
if ARGV[12] ~= '' then deliver(conversation, cjson.decode(ARGV[12]), now, slackMs) end

redis.call('HDEL', conv, 'turn', 'signal')
if state[4] ~= '0' then redis.call('HSET', conv, 'idle', '0', 'stuck', 0, 'lost', 0) end
if ARGV[14] == '1' then
  owner = 'human'
  redis.call('HSET', conv, 'owner', owner)
end

local waiting, unsettled = redis.call('LLEN', mail), redis.call('LLEN', key('outbox', conversation))
if waiting > 0 and ARGV[19] ~= '' then
  return { 'committed', waiting, unsettled,
    open_turn(conversation, cjson.decode(ARGV[19]), epoch + 1, owner, now) }
end
redis.call('ZREM', key('open'), conversation)
if waiting > 0 then
  redis.call('ZADD', key('due'), now + slackMs, 't:' .. conversation)
else
  redis.call('ZREM', key('due'), 't:' .. conversation)
  redis.call('PEXPIRE', conv, convMs)
  redis.call('PEXPIRE', key('hist', conversation), convMs)
  redis.call('PEXPIRE', key('facts', conversation), convMs)
end
return { 'committed', waiting, unsettled, {} }
