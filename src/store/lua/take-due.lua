-- Hands out what the reconciler should look at now, and keeps it from being handed out again for a while.
-- KEYS  1 lane tag
-- ARGV  1 how many at most  2 hold in ms  3 clock offset in ms
-- Returns due members, `t:<conversation>` or `d:<conversation>`, most overdue first
local now = clock(ARGV[3])
local due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do redis.call('ZADD', key('due'), now + tonumber(ARGV[2]), member) end
return due
