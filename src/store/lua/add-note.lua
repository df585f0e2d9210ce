-- Leaves a note for people in a ticket.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 note, JSON {id, record}  3 clock offset in ms
-- Returns {'added'}
-- Invariant: the same note goes out once, however often it is left.
deliver(ARGV[1], { cjson.decode(ARGV[2]) }, clock(ARGV[3]))
return { 'added' }
