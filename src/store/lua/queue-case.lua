-- Puts a case of a batch behind the messages of its conversation, once.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 batch  3 turn to repeat  4 case, JSON {batch, turn, intent, attempt, plannedAt, messages (JSON each)}
--       5 clock offset in ms
-- Returns {'queued'} | {'known'} | {'skipped', why}
-- Invariants: a turn is repeated at most once per batch; live messages of the conversation come first.
local conversation, batch, turn = ARGV[1], ARGV[2], ARGV[3]
local now = clock(ARGV[5])
local state = key('case', batch .. '/' .. turn)

if not redis.call('SET', state, 'queued', 'NX', 'PX', KEEP.turnsMs) then return { 'known' } end
local why = outdated(conversation, cjson.decode(ARGV[4]))
if why then
  finish_case(batch, turn, { turn = turn, skipped = why })
  return { 'skipped', why }
end
redis.call('RPUSH', key('cases', conversation), ARGV[4])
redis.call('ZADD', key('due'), 'NX', now + KEEP.slackMs, conversation)
return { 'queued' }
