-- Hands out what the reconciler should look at now, and keeps it from being handed out again for a while. Drops a few of
-- the oldest records that are over their age or their number.
-- KEYS  1 lane tag
-- ARGV  1 how many at most, of each  2 hold in ms  3 clock offset in ms
-- Returns {conversations whose turn is overdue, conversations whose delivery is overdue}, most overdue first
-- Invariant: a conversation with a message, an open turn or a delivery on its way loses nothing.
local now = clock(ARGV[3])

local function overdue(kind)
  local members = redis.call('ZRANGEBYSCORE', key(kind), '-inf', now, 'LIMIT', 0, ARGV[1])
  for _, member in ipairs(members) do redis.call('ZADD', key(kind), now + tonumber(ARGV[2]), member) end
  return members
end
local turns, deliveries = overdue('due'), overdue('undelivered')

local ended = key('ended')
local old = redis.call('ZRANGEBYSCORE', ended, '-inf', now - KEEP.turnsMs, 'LIMIT', 0, 200)
local surplus = redis.call('ZCARD', ended) - #old - KEEP.turnsKept
if surplus > 0 then old = redis.call('ZRANGE', ended, 0, #old + math.min(surplus, 200) - 1) end
for _, turn in ipairs(old) do
  redis.call('UNLINK', key('turn', turn), key('events', turn))
  redis.call('ZREM', ended, turn)
end

local quiet = key('quiet')
for _, conversation in ipairs(redis.call('ZRANGEBYSCORE', quiet, '-inf', now - KEEP.conversationMs, 'LIMIT', 0, 200)) do
  redis.call('ZREM', quiet, conversation)
  if not redis.call('ZSCORE', key('due'), conversation) and not redis.call('ZSCORE', key('undelivered'), conversation) then
    redis.call('UNLINK', key('conv', conversation), key('hist', conversation), key('facts', conversation))
  end
end
return { turns, deliveries }
