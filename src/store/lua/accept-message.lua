-- Takes a message in: claims its delivery id and its message id and appends it to the mailbox, or tells that it is known.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 message id (digest)  3 delivery claim (digest, '' if the source has none)
--       4 message JSON without acceptedAt  5 clock offset in ms  6 external conversation id, '' if ours names it already
-- Returns {'accepted', messages in the mailbox, turn it ends or '', cases of batches that wait} | {'known', turn id or ''}
-- Invariant: a message id is in a mailbox at most once, whatever is delivered how often; a hand-over is taken once.
local conversation, message, delivery, json, external = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]

-- Until its turn has ended a message is kept under its conversation; those hold a `/`, turns never do.
local function turn_of(value) return string.find(value, '/', 1, true) and '' or value end

if delivery ~= '' and not redis.call('SET', key('recv', delivery), message, 'NX', 'PX', KEEP.claimsMs) then
  local delivered = redis.call('GET', key('recv', delivery))
  return { 'known', turn_of(redis.call('GET', key('msg', delivered)) or '') }
end
local new = redis.call('SET', key('msg', message), conversation, 'NX')
if not new then return { 'known', turn_of(redis.call('GET', key('msg', message))) } end

local now = clock(ARGV[5])
if external ~= '' then redis.call('HSET', key('conv', conversation), 'external', external) end
local waiting = redis.call('RPUSH', key('mail', conversation),
  string.sub(json, 1, -2) .. ',"acceptedAt":' .. string.format('%.0f', now) .. '}')
redis.call('HSET', key('conv', conversation), 'acceptedAt', string.format('%.0f', now))
local cases = redis.call('LLEN', key('cases', conversation))
-- An earlier due time of the conversation stands.
redis.call('ZADD', key('due'), 'NX', now + KEEP.slackMs, conversation)
local turn = redis.call('HGET', key('conv', conversation), 'turn')
local taken = turn and redis.call('HMGET', key('turn', turn), 'messages', 'given')
-- The messages of a case do not lie in the mailbox.
if turn and waiting > (taken[2] and 0 or tonumber(taken[1] or 1)) then
  redis.call('ZADD', key('behind'), 'NX', string.format('%.0f', now), conversation)
end
local park = turn and redis.call('HMGET', key('turn', turn), 'supersede', 'parkDueAt')
if not park or park[1] ~= '1' or park[2] == '' then return { 'accepted', waiting, '', cases } end
-- Only who wrote the message that is being answered can call it off.
if not same_requester(redis.call('LINDEX', key('mail', conversation), 0), json) then
  return { 'accepted', waiting, '', cases }
end
local asked = signal_stop(conversation, turn, '{"cause":"superseded"}', now)
return { 'accepted', waiting, asked == 'wake' and turn or '', cases }
