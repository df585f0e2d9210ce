-- Ends a turn: record, ledger, history, facts, deliveries, owner and mailbox in one step.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 clock offset in ms  6 ledger time-out in ms  7 slack in ms
--       8 moves, JSON  9 outcome  10 reason  11 history entry, JSON  12 deliveries, JSON [{id, record}]
--       13 facts, JSON [resource, fact JSON, ...]  14 '1' if it hands over to people  15 turn time-out in ms
--       16 claim time-out in ms  17 conversation time-out in ms  18 history entries kept  19 ended turns kept
--       20.. events, JSON each
-- Returns {'committed', messages still waiting} | {'lost-claim'}
-- Invariants: the messages leave the mailbox with the outcome that answers them, never before; a repeat changes nothing.
local conversation, turn, token = ARGV[1], ARGV[2], ARGV[3]
local seq, now, ledgerMs, slackMs = tonumber(ARGV[4]), clock(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local turnMs, claimMs, convMs = ARGV[15], ARGV[16], ARGV[17]
local first = 20
local count = #ARGV - first + 1
local conv, mail, record = key('conv', conversation), key('mail', conversation), key('turn', turn)

if not holds(conversation, token) then return { 'lost-claim' } end
if repeated(turn, seq, count) then return { 'committed', redis.call('LLEN', mail) } end

local failed = append(turn, seq, first, count)
if failed then return failed end
move(cjson.decode(ARGV[8]), now, ledgerMs)

local answered = {}
for _ = 1, tonumber(redis.call('HGET', record, 'messages')) do
  local json = redis.call('LPOP', mail)
  answered[#answered + 1] = json
  redis.call('SET', key('msg', cjson.decode(json).id), turn, 'PX', claimMs)
end
redis.call('HSET', record, 'phase', 'ended', 'outcome', ARGV[9], 'reason', ARGV[10], 'endedAt', now,
  'parkDueAt', '', 'answered', '[' .. table.concat(answered, ',') .. ']')
local approval = redis.call('HGET', record, 'approval')
if approval and approval ~= '' then
  if redis.call('HGET', key('approval', approval), 'status') == 'pending' then
    redis.call('HSET', key('approval', approval), 'status', 'cancelled', 'by', 'turn ended', 'comment', '',
      'decidedAt', string.format('%.0f', now))
    redis.call('ZREM', key('approvals'), approval)
  end
  redis.call('PEXPIRE', key('approval', approval), turnMs)
end

redis.call('RPUSH', key('hist', conversation), ARGV[11])
redis.call('LTRIM', key('hist', conversation), -tonumber(ARGV[18]), -1)
local facts = cjson.decode(ARGV[13])
if #facts > 0 then redis.call('HSET', key('facts', conversation), unpack(facts)) end
deliver(conversation, cjson.decode(ARGV[12]), now, slackMs)

redis.call('HDEL', conv, 'turn', 'signal')
redis.call('HSET', conv, 'idle', '0', 'stuck', 0, 'lost', 0)
if ARGV[14] == '1' then redis.call('HSET', conv, 'owner', 'human') end
redis.call('ZREM', key('open'), conversation)
redis.call('ZADD', key('ended'), now, turn)
redis.call('PEXPIRE', record, turnMs)
redis.call('PEXPIRE', key('events', turn), turnMs)

local waiting = redis.call('LLEN', mail)
if waiting > 0 then
  redis.call('ZADD', key('due'), now + slackMs, 't:' .. conversation)
else
  redis.call('ZREM', key('due'), 't:' .. conversation)
  redis.call('PEXPIRE', conv, convMs)
  redis.call('PEXPIRE', key('hist', conversation), convMs)
  redis.call('PEXPIRE', key('facts', conversation), convMs)
end

-- Retention without a scan: each commit drops at most a few of the oldest ended turns.
local ended = key('ended')
redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - tonumber(turnMs))
if redis.call('ZCARD', ended) > tonumber(ARGV[19]) then
  local oldest = redis.call('ZPOPMIN', ended, 2)
  for index = 1, #oldest, 2 do
    redis.call('UNLINK', key('turn', oldest[index]), key('events', oldest[index]))
  end
end
return { 'committed', waiting }
