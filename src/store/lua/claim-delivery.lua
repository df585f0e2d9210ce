-- Claims the oldest unsettled delivery of a conversation for sending.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 token of this claim  3 send time-out in ms  4 clock offset in ms
-- Returns {'empty'}
--       | {'wait', until ms}                      another worker may still be sending it, or it failed a moment ago
--       | {'send' | 'recheck', delivery id, record JSON, external conversation id or '', attempts, send until ms}
--         recheck: it may have been sent already; look before it is sent again
-- What the agent wants to say after a person took the conversation over is dropped on the way.
-- Invariants: a repeat of the same token gets the same answer; between two sends of one delivery lies a re-read made after the first one's time ran out.
local conversation, token = ARGV[1], ARGV[2]
local sendMs, now = tonumber(ARGV[3]), clock(ARGV[4])

local conv, outbox = redis.call('HMGET', key('conv', conversation), 'external', 'takenAt'), key('outbox', conversation)
local id = redis.call('LINDEX', outbox, 0)
while id and conv[2] do
  local waits = redis.call('HMGET', key('delivery', id), 'status', 'record')
  local kind = waits[1] == 'pending' and cjson.decode(waits[2]).kind
  if kind ~= 'reply' and kind ~= 'holding' then break end
  redis.call('HSET', key('delivery', id), 'status', 'dropped', 'detail', 'human_takeover', 'settledAt', now)
  redis.call('PEXPIRE', key('delivery', id), KEEP.turnsMs)
  redis.call('LPOP', outbox)
  id = redis.call('LINDEX', outbox, 0)
end
if not id then
  redis.call('ZREM', key('undelivered'), conversation)
  return { 'empty' }
end
local record = key('delivery', id)
local fields = redis.call('HMGET', record, 'status', 'token', 'until', 'record', 'attempts', 'notBefore',
  'verdict')
local status, untilMs = fields[1], tonumber(fields[3] or 0)
if status == 'pending' and fields[6] and now < tonumber(fields[6]) then return { 'wait', fields[6] } end
if status == 'sending' and fields[2] ~= token and now < untilMs then return { 'wait', fields[3] } end

local external = conv[1] or ''
-- The same claim again, its answer was lost: what it was told stands, above all that it must look first.
if status == 'sending' and fields[2] == token then
  return { fields[7], id, fields[4], external, tonumber(fields[5]), fields[3] }
end

local verdict = status == 'sending' and 'recheck' or 'send'
local sendUntil = string.format('%.0f', now + sendMs)
redis.call('HSET', record, 'status', 'sending', 'token', token, 'until', sendUntil, 'verdict', verdict)
local attempts = tonumber(fields[5])
if verdict == 'send' then attempts = redis.call('HINCRBY', record, 'attempts', 1) end
redis.call('ZADD', key('undelivered'), now + sendMs + KEEP.slackMs, conversation)
return { verdict, id, fields[4], external, attempts, sendUntil }
