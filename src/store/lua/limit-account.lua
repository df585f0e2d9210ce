-- Notes that the account of a model is limited, for every turn of the lane.
-- KEYS  1 lane tag
-- ARGV  1 account  2 until ms  3 clock offset in ms
-- Returns 'limited'
-- Invariant: a later end stands; what is over is forgotten.
local limited, now = key('limited'), clock(ARGV[3])
local known = redis.call('HGETALL', limited)
for index = 1, #known, 2 do
  if tonumber(known[index + 1]) <= now then redis.call('HDEL', limited, known[index]) end
end
local untilMs = redis.call('HGET', limited, ARGV[1])
if not untilMs or tonumber(untilMs) < tonumber(ARGV[2]) then redis.call('HSET', limited, ARGV[1], ARGV[2]) end
redis.call('PEXPIRE', limited, 3600000)
return 'limited'
