-- Claims the oldest unsettled delivery of a conversation for sending.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 token of this claim  3 send time-out in ms  4 slack in ms  5 clock offset in ms
-- Returns {'empty'}
--       | {'wait', until ms}                      another worker may still be sending it, or it failed a moment ago
--       | {'send' | 'recheck', delivery id, record JSON, source, external conversation id, attempts, send until ms}
--         recheck: it may have been sent already; look before it is sent again
-- Invariant: between two sends of one delivery lies a re-read made after the first one's time ran out.
local conversation, token = ARGV[1], ARGV[2]
local sendMs, slackMs, now = tonumber(ARGV[3]), tonumber(ARGV[4]), clock(ARGV[5])

local id = redis.call('LINDEX', key('outbox', conversation), 0)
if not id then
  redis.call('ZREM', key('due'), 'd:' .. conversation)
  return { 'empty' }
end
local record = key('delivery', id)
local fields = redis.call('HMGET', record, 'status', 'token', 'until', 'record', 'attempts', 'notBefore')
local status, untilMs = fields[1], tonumber(fields[3] or 0)
if status == 'pending' and fields[6] and now < tonumber(fields[6]) then return { 'wait', fields[6] } end
if status == 'sending' and fields[2] ~= token and now < untilMs then return { 'wait', fields[3] } end

local verdict = 'send'
if status == 'sending' and fields[2] ~= token then verdict = 'recheck' end
local target = redis.call('HMGET', key('conv', conversation), 'source', 'external')
local sendUntil = string.format('%.0f', now + sendMs)
redis.call('HSET', record, 'status', 'sending', 'token', token, 'until', sendUntil)
local attempts = tonumber(fields[5])
if verdict == 'send' then attempts = redis.call('HINCRBY', record, 'attempts', 1) end
redis.call('ZADD', key('due'), now + sendMs + slackMs, 'd:' .. conversation)
return { verdict, id, fields[4], target[1] or '', target[2] or '', attempts, sendUntil }
