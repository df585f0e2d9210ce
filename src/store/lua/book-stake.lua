-- Books an amount on what a customer has moved on a day, unless the sum would pass a cap.
-- KEYS  1 lane tag (of the customer, not of a conversation)
-- ARGV  1 stake (digest of customer, day and currency)  2 operation  3 amount  4 cap, '' for none
-- Returns 'booked' | 'over'
-- Invariant: an operation counts once, with the most it was ever booked for: a smaller repeat of one that was done frees nothing.
local stake, operation, amount, cap = key('stake', ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

amount = math.max(amount, tonumber(redis.call('HGET', stake, operation) or 0))
if cap then
  local sum, booked = amount, redis.call('HGETALL', stake)
  for index = 1, #booked, 2 do
    if booked[index] ~= operation then sum = sum + tonumber(booked[index + 1]) end
  end
  if sum > cap then return 'over' end
end
redis.call('HSET', stake, operation, string.format('%.0f', amount))
redis.call('PEXPIRE', stake, 172800000)
return 'booked'
