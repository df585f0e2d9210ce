-- Claims a conversation: hands its open turn over, or opens one for the oldest message. Voids every earlier claim.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 claimer, JSON {nonce, candidate (id for a turn that is opened), job, worker,
--         history (entries wanted), lookMs (until the reconciler looks after the turn)}
--       3 clock offset in ms  4 stuck limit  5 lost limit
-- Returns {'empty'}                       nothing to answer
--       | {'parked', until ms}            waits for something, and this job is not the one that wakes it
--       | {'held', until ms}              kept back after it got stuck
--       | {'claimed', token, epoch, turn id, owner, head (flat), messages, events, history, facts (flat), approval (flat)}
--         head holds `poisoned` = 1 when the turn must be given up
-- Invariant: at most one claim token is current; a repeat with the same nonce gets the same claim.
local conversation, claimer = ARGV[1], cjson.decode(ARGV[2])
local now, stuckLimit, lostLimit = clock(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local conv, mail = key('conv', conversation), key('mail', conversation)

local state = redis.call('HMGET', conv, 'turn', 'epoch', 'token', 'nonce', 'owner', 'worker', 'idle',
  'stuck', 'lost', 'heldUntil')
local turn, epoch, token, owner = state[1], tonumber(state[2] or 0), state[3], state[5] or 'agent'
local stuck, lost = tonumber(state[8] or 0), tonumber(state[9] or 0)
local again = state[4] == claimer.nonce

if not turn then
  if redis.call('LLEN', mail) == 0 then
    redis.call('ZREM', key('due'), 't:' .. conversation)
    return { 'empty' }
  end
  redis.call('PERSIST', conv)
  local opened = open_turn(conversation, claimer, epoch + 1, owner, now)
  opened[#opened + 1] = redis.call('LRANGE', key('hist', conversation), -claimer.history, -1)
  opened[#opened + 1] = redis.call('HGETALL', key('facts', conversation))
  opened[#opened + 1] = {}
  return opened
end

if not again then
  local head = redis.call('HMGET', key('turn', turn), 'parkDueAt', 'job', 'woken')
  local parked = head[1] and head[1] ~= ''
  if parked and head[2] ~= claimer.job and head[3] ~= '1' and now < tonumber(head[1]) then
    return { 'parked', head[1] }
  end
  if not parked then
    if now < (tonumber(state[10] or '') or 0) then return { 'held', state[10] } end
    -- The earlier claim put nothing on record. It counts as stuck if its worker lived on, else as lost.
    if state[7] == '1' and token and token ~= '' then
      if redis.call('EXISTS', key('worker', state[6] or '')) == 1 then stuck = stuck + 1 else lost = lost + 1 end
      redis.call('HSET', conv, 'stuck', stuck, 'lost', lost)
      local held = math.max(stuck, lost - 2)
      if held >= 2 and stuck < stuckLimit and lost < lostLimit then
        local untilMs = string.format('%.0f', now + math.min(60000, 500 * 2 ^ held))
        redis.call('HSET', conv, 'heldUntil', untilMs, 'token', '', 'idle', '0')
        redis.call('ZADD', key('due'), untilMs + claimer.lookMs, 't:' .. conversation)
        return { 'held', untilMs }
      end
    end
  end
  epoch = epoch + 1
  token = take_claim(conversation, claimer, epoch, {})
  redis.call('PERSIST', conv)
end

redis.call('HSET', key('turn', turn), 'job', claimer.job)
redis.call('ZADD', key('due'), now + claimer.lookMs, 't:' .. conversation)

local head = redis.call('HGETALL', key('turn', turn))
local fields = {}
for index = 1, #head, 2 do fields[head[index]] = head[index + 1] end
if stuck >= stuckLimit or lost >= lostLimit then
  head[#head + 1] = 'poisoned'
  head[#head + 1] = '1'
end
local approval = {}
if fields.approval and fields.approval ~= '' then
  approval = redis.call('HGETALL', key('approval', fields.approval))
end
return {
  'claimed', token, epoch, turn, owner, head,
  redis.call('LRANGE', mail, 0, tonumber(fields.messages) - 1),
  redis.call('LRANGE', key('events', turn), 0, -1),
  redis.call('LRANGE', key('hist', conversation), -claimer.history, -1),
  redis.call('HGETALL', key('facts', conversation)),
  approval,
}
