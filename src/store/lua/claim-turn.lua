-- Claims a conversation: hands its open turn over, or opens one for the oldest message, or for a case of a batch if no
-- message waits. Voids every earlier claim.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 claimer, JSON {nonce, candidate (id for a turn that is opened), job, worker, history (entries), burstMs}
--       3 clock offset in ms  4 stuck limit  5 lost limit
-- Returns {'empty'}                       nothing to answer
--       | {'parked', until ms}            waits for something, and this job is not the one that wakes it
--       | {'held', until ms}              kept back after it got stuck, or until the burst of its oldest message is over
--       | {'claimed', token, epoch, turn id, owner, head (flat), messages, events, history, facts (flat), approval (flat)}
--         head holds `poisoned` = 1 when the turn must be given up, and `signal` when it was asked to stop
-- Invariant: at most one claim token is current; a repeat with the same nonce gets the same claim.
local conversation, claimer = ARGV[1], cjson.decode(ARGV[2])
local now, stuckLimit, lostLimit = clock(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local conv, mail = key('conv', conversation), key('mail', conversation)

local state = redis.call('HMGET', conv, 'turn', 'epoch', 'token', 'owner', 'worker', 'claimSeq', 'stuck', 'lost',
  'heldUntil', 'signal', 'account', 'merge')
local turn, epoch, token, owner = state[1], tonumber(state[2] or 0), state[3] or '', state[4] or 'agent'
local stuck, lost = tonumber(state[7] or 0), tonumber(state[8] or 0)

if not turn then
  -- What was counted against an earlier turn is not held against the next one.
  if state[7] or state[8] then redis.call('HDEL', conv, 'stuck', 'lost', 'heldUntil') end
  local opened
  local waiting = redis.call('LLEN', mail)
  if waiting == 0 then
    opened = open_case(conversation, claimer, epoch + 1, now)
    if not opened then
      redis.call('ZREM', key('due'), conversation)
      return { 'empty' }
    end
  else
    local untilMs = burst_until(conversation, owner, claimer.burstMs or 0, now)
    if untilMs then return { 'held', untilMs } end
    local merge, account = state[12] == '1', state[11] or nil
    opened = open_turn(conversation, claimer, epoch + 1, owner, now, waiting, merge, account)
  end
  -- One that nobody has spoken in yet remembers nothing.
  local new = epoch == 0 and not state[4]
  opened[#opened + 1] = new and {} or redis.call('LRANGE', key('hist', conversation), -claimer.history, -1)
  opened[#opened + 1] = new and {} or redis.call('HGETALL', key('facts', conversation))
  opened[#opened + 1] = {}
  return opened
end

if token ~= epoch .. '-' .. claimer.nonce then
  local seq = redis.call('LLEN', key('events', turn))
  local head = redis.call('HMGET', key('turn', turn), 'parkDueAt', 'job', 'woken')
  local parked = head[1] and head[1] ~= ''
  if parked and head[2] ~= claimer.job and head[3] ~= '1' and now < tonumber(head[1]) then
    return { 'parked', head[1] }
  end
  if seq > tonumber(state[6] or 0) then
    stuck, lost = 0, 0
  elseif not parked then
    if now < (tonumber(state[9] or '') or 0) then return { 'held', state[9] } end
    -- The earlier claim put nothing on record. It counts as stuck if its worker lived on, else as lost.
    if token ~= '' then
      if redis.call('EXISTS', key('worker', state[5] or '')) == 1 then stuck = stuck + 1 else lost = lost + 1 end
      local held = math.max(stuck, lost - 2)
      if held >= 2 and stuck < stuckLimit and lost < lostLimit then
        local untilMs = string.format('%.0f', now + math.min(60000, 500 * 2 ^ held))
        redis.call('HSET', conv, 'stuck', stuck, 'lost', lost, 'heldUntil', untilMs, 'token', '')
        redis.call('ZADD', key('due'), untilMs + KEEP.slackMs, conversation)
        return { 'held', untilMs }
      end
    end
  end
  epoch = epoch + 1
  token = take_claim(conversation, claimer, epoch, seq, { 'stuck', stuck, 'lost', lost, 'heldUntil', '' })
end

redis.call('HSET', key('turn', turn), 'job', claimer.job)
redis.call('ZADD', key('due'), now + 4 * KEEP.slackMs, conversation)

local head = redis.call('HGETALL', key('turn', turn))
local fields = {}
for index = 1, #head, 2 do fields[head[index]] = head[index + 1] end
if fields.parkKind then redis.call('ZREM', key('parked', fields.parkKind), conversation) end
if stuck >= stuckLimit or lost >= lostLimit then
  head[#head + 1] = 'poisoned'
  head[#head + 1] = '1'
end
if state[10] and state[10] ~= '' then
  head[#head + 1] = 'signal'
  head[#head + 1] = state[10]
end
if state[11] then
  head[#head + 1] = 'account'
  head[#head + 1] = state[11]
end
tell_limits(head)
local approval = {}
if fields.approval and fields.approval ~= '' then
  approval = redis.call('HGETALL', key('approval', fields.approval))
end
return {
  'claimed', token, epoch, turn, owner, head,
  fields.given and cjson.decode(fields.given) or redis.call('LRANGE', mail, 0, tonumber(fields.messages) - 1),
  redis.call('LRANGE', key('events', turn), 0, -1),
  redis.call('LRANGE', key('hist', conversation), -claimer.history, -1),
  redis.call('HGETALL', key('facts', conversation)),
  approval,
}
