-- Asks the open turn of a conversation to stop.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 signal, JSON {cause, by, reason}  4 clock offset in ms
-- Returns {'requested', 'wake' if it is parked, else 'running', signal JSON} | {'already', '', signal JSON}
--       | {'not-open'} when the turn has ended
-- Invariants: what was asked stands until the turn has ended; asking again changes nothing.
local conversation, turn = ARGV[1], ARGV[2]
if redis.call('HGET', key('conv', conversation), 'turn') ~= turn then return { 'not-open' } end
local asked, signal = signal_stop(conversation, turn, ARGV[3], clock(ARGV[4]))
if not asked then return { 'already', '', signal } end
return { 'requested', asked, signal }
