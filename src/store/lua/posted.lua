-- What we have posted in a conversation, and whether something is on its way just now: both at one moment.
-- KEYS  1 lane tag
-- ARGV  1 conversation
-- Returns {'sending' or '', ids}
-- Invariant: changes nothing.
local first = redis.call('LINDEX', key('outbox', ARGV[1]), 0)
local sending = first and redis.call('HGET', key('delivery', first), 'status') == 'sending'
return { sending and 'sending' or '', redis.call('SMEMBERS', key('posted', ARGV[1])) }
