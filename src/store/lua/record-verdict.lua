-- Stores one re-read made while its turn is parked. Never takes the claim.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 park number  4 number of the read  5 read, JSON {read, final}
-- Returns {'recorded'} | {'stale'} when the turn no longer waits in that park
-- Invariant: a read is stored once; the first one of a number stands.
local conversation, turn, park = ARGV[1], ARGV[2], ARGV[3]

local open = redis.call('HGET', key('conv', conversation), 'turn')
local current = redis.call('HMGET', key('turn', turn), 'parkNumber', 'parkKind', 'parkDueAt')
if open ~= turn or current[1] ~= park or current[2] ~= 'verification' or current[3] == '' then
  return { 'stale' }
end
redis.call('HSETNX', key('turn', turn), 'read:' .. park .. ':' .. ARGV[4], ARGV[5])
return { 'recorded' }
