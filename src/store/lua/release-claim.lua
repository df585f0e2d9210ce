-- A worker could not go on with a turn (its code threw). Counts it, voids the claim and says when to try again.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 token  3 clock offset in ms  4 stuck limit
-- Returns {'held', until ms, stuck} | {'lost-claim'}
local conversation, token, now = ARGV[1], ARGV[2], clock(ARGV[3])
local conv = key('conv', conversation)

if not holds(conversation, token) then return { 'lost-claim' } end
local state = redis.call('HMGET', conv, 'turn', 'claimSeq', 'stuck')
local progress = state[1] and redis.call('LLEN', key('events', state[1])) > tonumber(state[2] or 0)
local stuck = (progress and 0 or tonumber(state[3] or 0)) + 1
local untilMs = now
if stuck >= 2 and stuck < tonumber(ARGV[4]) then untilMs = now + math.min(60000, 500 * 2 ^ stuck) end
local text = string.format('%.0f', untilMs)
-- What is on record now is not the progress of the next claim.
local seq = state[1] and redis.call('LLEN', key('events', state[1])) or 0
redis.call('HSET', conv, 'token', '', 'stuck', stuck, 'claimSeq', seq, 'heldUntil', text)
redis.call('ZADD', key('due'), untilMs + KEEP.slackMs, conversation)
return { 'held', text, stuck }
