-- Books an amount on what a customer has moved on a day, unless the sum would pass a cap.
-- KEYS  1 lane tag (of the customer, not of a conversation)
-- ARGV  1 stake (digest of customer, day and currency)  2 operation  3 amount  4 cap, '' for none
-- Returns 'booked' | 'over'
-- Invariant: an operation counts once, however often it is booked.
local stake, operation, amount, cap = key('stake', ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

if redis.call('HEXISTS', stake, operation) == 1 then return 'booked' end
if cap then
  local sum = amount
  for _, booked in ipairs(redis.call('HVALS', stake)) do sum = sum + tonumber(booked) end
  if sum > cap then return 'over' end
end
redis.call('HSET', stake, operation, ARGV[3])
redis.call('PEXPIRE', stake, 172800000)
return 'booked'
