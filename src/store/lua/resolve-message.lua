-- Fills in what a source had left out of a message, and claims the id the source gives it.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 token  3 place in the mailbox, from 0  4 message, JSON  5 its id as the source names it (digest), or ''
-- Returns {'resolved'} | {'duplicate'} when that id is known from another hand-over | {'lost-claim'}
-- Invariants: only the current claim writes; a message keeps the id under which it was accepted.
local conversation, token, alias = ARGV[1], ARGV[2], ARGV[5]
if not holds(conversation, token) then return { 'lost-claim' } end
local mail, place = key('mail', conversation), tonumber(ARGV[3])
local before = redis.call('LINDEX', mail, place)
if before == ARGV[4] then return { 'resolved' } end
if alias ~= '' and redis.call('EXISTS', key('msg', alias)) == 1 then return { 'duplicate' } end
if alias ~= '' then redis.call('SET', key('msg', alias), conversation, 'PX', KEEP.claimsMs) end
redis.call('LSET', mail, place, ARGV[4])
return { 'resolved' }
