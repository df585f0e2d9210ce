-- A worker could not go on with a turn (its code threw). Counts it, voids the claim and says when to try again.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 token  3 clock offset in ms  4 stuck limit  5 slack in ms
-- Returns {'held', until ms, stuck} | {'lost-claim'}
local conversation, token = ARGV[1], ARGV[2]
local now, slackMs = clock(ARGV[3]), tonumber(ARGV[5])
local conv = key('conv', conversation)

if not holds(conversation, token) then return { 'lost-claim' } end
local stuck = redis.call('HINCRBY', conv, 'stuck', 1)
local untilMs = now
if stuck >= 2 and stuck < tonumber(ARGV[4]) then untilMs = now + math.min(60000, 500 * 2 ^ stuck) end
redis.call('HSET', conv, 'token', '', 'nonce', '', 'idle', '0', 'heldUntil', string.format('%.0f', untilMs))
redis.call('ZADD', key('due'), untilMs + slackMs, 't:' .. conversation)
return { 'held', string.format('%.0f', untilMs), stuck }
