-- Gives a conversation back to the agent.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 by  3 reason  4 clock offset in ms
-- Returns {'released' | 'already' | 'not-found'}
local conv = key('conv', ARGV[1])
if redis.call('EXISTS', conv) == 0 then return { 'not-found' } end
local owner = redis.call('HGET', conv, 'owner')
if owner ~= 'human' then return { 'already' } end
redis.call('HSET', conv, 'owner', 'agent', 'releasedBy', ARGV[2], 'releasedReason', ARGV[3],
  'releasedAt', string.format('%.0f', clock(ARGV[4])))
redis.call('HDEL', conv, 'takenBy', 'takenAt', 'takenReason')
return { 'released' }
