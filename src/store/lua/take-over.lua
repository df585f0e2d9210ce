-- Gives a conversation to a person: from this step on nothing is started in it. The open turn is asked to stop.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 signal, JSON {cause, by, reason}  3 clock offset in ms  4 what the person wrote, history entry JSON or ''
--       5 id of that message (digest) or ''
-- Returns {'taken' | 'already', open turn or '', 'wake' if it is parked, 'running', or '', messages that wait}
-- Invariant: a message of a person enters the history once, whatever is delivered how often.
local conversation, json, entry, message = ARGV[1], ARGV[2], ARGV[4], ARGV[5]
local now, conv = clock(ARGV[3]), key('conv', conversation)

if message ~= '' and redis.call('SET', key('msg', message), '', 'NX', 'PX', KEEP.claimsMs) then
  if redis.call('RPUSH', key('hist', conversation), entry) > KEEP.historyKept then
    redis.call('LPOP', key('hist', conversation))
  end
end
local state = redis.call('HMGET', conv, 'owner', 'turn', 'takenAt')
local turn = state[2] or ''
-- A conversation the agent handed over has a person as its owner, but nobody has taken it yet.
if not state[3] then
  local taken = cjson.decode(json)
  redis.call('HSET', conv, 'owner', 'human', 'takenBy', taken.by or '', 'takenAt', string.format('%.0f', now),
    'takenReason', taken.reason or '')
end
local asked = turn ~= '' and signal_stop(conversation, turn, json, now) or ''
redis.call('ZADD', key('quiet'), now, conversation)
return { state[3] and 'already' or 'taken', turn, asked or '', redis.call('LLEN', key('mail', conversation)) }
