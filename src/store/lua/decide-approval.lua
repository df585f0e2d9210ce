-- Decides an approval, once. Approver and expiry use the same step, so both are told what the turn will see.
-- KEYS  1 lane tag
-- ARGV  1 approval  2 decision (approved | rejected | expired | cancelled)  3 by  4 comment  5 clock offset in ms  6 wake-up grace in ms
-- Returns {'decided' | 'already', status, by, decidedAt, comment, conversation, turn} | {'not-found'} | {'not-due', expiresAt}
-- Invariants: pending -> one decision; a yes or no that comes after the expiry is told that it expired.
local approval, decision, by, comment = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local now, graceMs = clock(ARGV[5]), tonumber(ARGV[6])
local record = key('approval', approval)

local fields = redis.call('HMGET', record, 'status', 'expiresAt', 'conversation', 'turn', 'by', 'decidedAt', 'comment')
local status, conversation, turn = fields[1], fields[3], fields[4]
if not status then return { 'not-found' } end
if status ~= 'pending' then
  return { 'already', status, fields[5], fields[6], fields[7] or '', conversation, turn }
end
local expired = now >= tonumber(fields[2])
if decision == 'expired' and not expired then return { 'not-due', fields[2] } end
if expired and decision ~= 'cancelled' then decision, by, comment = 'expired', 'clock', '' end

local at = string.format('%.0f', now)
redis.call('HSET', record, 'status', decision, 'by', by, 'decidedAt', at, 'comment', comment)
redis.call('ZREM', key('approvals'), approval)
if redis.call('HGET', key('conv', conversation), 'turn') == turn then
  redis.call('HSET', key('turn', turn), 'woken', '1')
  redis.call('ZADD', key('due'), now + graceMs, conversation)
end
return { 'decided', decision, by, at, comment, conversation, turn }
