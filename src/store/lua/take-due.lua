-- Hands out what the reconciler should look at now, and keeps it from being handed out again for a while. Drops a few of
-- the oldest ended turns that are over their age or their number.
-- KEYS  1 lane tag
-- ARGV  1 how many at most  2 hold in ms  3 clock offset in ms  4 turn time-out in ms  5 ended turns kept
-- Returns due members, `t:<conversation>` or `d:<conversation>`, most overdue first
local now = clock(ARGV[3])
local due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do redis.call('ZADD', key('due'), now + tonumber(ARGV[2]), member) end

local ended = key('ended')
redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - tonumber(ARGV[4]))
local surplus = redis.call('ZCARD', ended) - tonumber(ARGV[5])
if surplus > 0 then
  local oldest = redis.call('ZPOPMIN', ended, math.min(surplus, 500))
  for index = 1, #oldest, 2 do
    redis.call('UNLINK', key('turn', oldest[index]), key('events', oldest[index]))
  end
end
return due
