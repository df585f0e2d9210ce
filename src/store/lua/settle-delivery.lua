-- Says how a claimed delivery went. Final statuses take it out of the conversation's outbox.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 delivery  3 token  4 status (sent | unknown | dropped | pending)  5 target's id or reason
--       6 earliest next try in ms since the epoch, for pending  7 clock offset in ms
--       8 note that tells people of a text that was dropped, JSON {id, record} or ''
-- Returns {'settled', unsettled deliveries left} | {'lost-claim'}
-- Invariant: a final status is never changed by a sender.
local conversation, id, token, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local now = clock(ARGV[7])
local record, outbox = key('delivery', id), key('outbox', conversation)

local fields = redis.call('HMGET', record, 'status', 'token')
if fields[2] ~= token then return { 'lost-claim' } end
if fields[1] == 'sending' then
  if status == 'pending' then
    redis.call('HSET', record, 'status', status, 'notBefore', ARGV[6], 'detail', ARGV[5])
    redis.call('ZADD', key('undelivered'), tonumber(ARGV[6]) + KEEP.slackMs, conversation)
  else
    redis.call('HSET', record, 'status', status, status == 'sent' and 'targetId' or 'detail', ARGV[5], 'settledAt', now)
    redis.call('LREM', outbox, 1, id)
    if status == 'sent' then
      redis.call('SADD', key('posted', conversation), ARGV[5])
      redis.call('PEXPIRE', key('posted', conversation), KEEP.turnsMs)
    end
    if ARGV[8] ~= '' then deliver(conversation, { cjson.decode(ARGV[8]) }, now) end
    if status == 'unknown' then
      redis.call('ZADD', key('unclear'), now, id)
    else
      redis.call('PEXPIRE', record, KEEP.turnsMs)
    end
  end
end
local left = redis.call('LLEN', outbox)
if left == 0 then redis.call('ZREM', key('undelivered'), conversation) end
return { 'settled', left }
