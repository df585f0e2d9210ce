-- Changes the state of a batch, if it is in one of the states it may be changed from.
-- KEYS  1 lane tag
-- ARGV  1 batch  2 states it may be in, each followed by a comma  3 fields and values, JSON list
-- Returns {'moved' | 'refused', status} | {'not-found'}
local batch = key('batch', ARGV[1])
local status = redis.call('HGET', batch, 'status')
if not status then return { 'not-found' } end
if not string.find(ARGV[2], status .. ',', 1, true) then return { 'refused', status } end
redis.call('HSET', batch, unpack(cjson.decode(ARGV[3])))
redis.call('PEXPIRE', batch, KEEP.turnsMs)
return { 'moved', status }
