-- Takes a message in: claims its delivery id and its message id and appends it to the mailbox, or tells that it is known.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 message id (digest)  3 delivery claim (digest, '' if the source has none)
--       4 message JSON without acceptedAt  5 claim time-out in ms  6 reconciler slack in ms  7 clock offset in ms
--       8 source  9 external conversation id
-- Returns {'accepted', messages in the mailbox} | {'known', turn id or ''}
-- Invariant: a message id is in a mailbox at most once, whatever is delivered how often.
local conversation, message, delivery, json = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local claimMs, slackMs = ARGV[5], tonumber(ARGV[6])
local now = clock(ARGV[7])

if delivery ~= '' then redis.call('SET', key('recv', delivery), message, 'PX', claimMs) end
local known = redis.call('GET', key('msg', message))
if known then return { 'known', known } end

redis.call('SET', key('msg', message), '')
redis.call('HSET', key('conv', conversation), 'source', ARGV[8], 'external', ARGV[9])
local waiting = redis.call('RPUSH', key('mail', conversation),
  string.sub(json, 1, -2) .. ',"acceptedAt":' .. string.format('%.0f', now) .. '}')
-- An earlier due time of the conversation stands.
redis.call('ZADD', key('due'), 'NX', now + slackMs, 't:' .. conversation)
return { 'accepted', waiting }
