-- What several scripts share. The loader puts in front of each script what it uses of it, and a number in place of each
-- KEEP.<name>: durations and counts of retention.ts and the store's slack, in ms. KEYS[1] is the hash tag of the lane; all
-- other keys derive from it (see keys.ts).

local function key(kind, id)
  if id then return KEYS[1] .. ':' .. kind .. ':' .. id end
  return KEYS[1] .. ':' .. kind
end

-- Milliseconds since the epoch by Redis' own clock, moved by the offset a test may set.
local function clock(offset)
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + (tonumber(offset) or 0)
end

-- True while the claim is the current one of the conversation and the turn is still its open turn.
local function holds(conversation, token)
  return redis.call('HGET', key('conv', conversation), 'token') == token
end

-- Appends events ARGV[first..] to the record. False when they are there already: a repeat of a step whose answer was
-- lost. Any other length would mean two writers, which the token rules out.
local function append(turn, seq, first)
  local events, count = key('events', turn), #ARGV - first + 1
  local length = redis.call('LLEN', events)
  if length == seq + count then return false end
  if length ~= seq then error('TK_SEQ turn ' .. turn .. ' is at event ' .. length .. ', not at ' .. seq) end
  redis.call('RPUSH', events, unpack(ARGV, first))
  -- Whoever follows the turn reads on; the message itself carries nothing.
  redis.call('PUBLISH', events, length + count)
  return true
end

local LIVE = { attempted = true, applied = true, unknown = true, verified = true }

-- Moves ledger rows to the status their turn has found. A verified row never moves again.
local function move(moves, now)
  for _, change in ipairs(moves) do
    local row = key('op', change.operation)
    local status = redis.call('HGET', row, 'status')
    if status and status ~= 'verified' then
      redis.call('HSET', row, 'status', change.status)
      if change.status == 'unknown' then
        redis.call('ZADD', key('unknown'), 'NX', string.format('%.0f', now), change.operation)
      else
        redis.call('ZREM', key('unknown'), change.operation)
      end
      if change.outcome then redis.call('HSET', row, 'outcome', change.outcome) end
      if change.status == 'verified' then
        redis.call('HSET', row, 'verifiedAt', now)
      else
        redis.call('HSET', row, 'settledAt', now)
      end
      if LIVE[change.status] and change.status ~= 'verified' then
        redis.call('PERSIST', row)
      else
        redis.call('PEXPIRE', row, KEEP.ledgerMs)
      end
    end
  end
end

-- Writes delivery records that do not exist yet and queues them behind the conversation's earlier ones. Answers how many
-- of the conversation are unsettled now.
local function deliver(conversation, deliveries, now)
  local unsettled
  for _, delivery in ipairs(deliveries) do
    local record = key('delivery', delivery.id)
    if redis.call('EXISTS', record) == 0 then
      redis.call('HSET', record, 'record', delivery.record, 'status', 'pending', 'attempts', 0, 'createdAt', now)
      unsettled = redis.call('RPUSH', key('outbox', conversation), delivery.id)
      if unsettled == 1 then redis.call('ZADD', key('undelivered'), now + KEEP.slackMs, conversation) end
    end
  end
  return unsettled or redis.call('LLEN', key('outbox', conversation))
end

-- Voids every earlier claim of the conversation and makes this one the current one. `seq` tells the next claim whether
-- this one put anything on record.
local function take_claim(conversation, claimer, epoch, seq, more)
  local token = epoch .. '-' .. claimer.nonce
  redis.call('HSET', key('conv', conversation), 'epoch', epoch, 'token', token, 'worker', claimer.worker,
    'claimSeq', seq, unpack(more))
  return token
end

-- The stop somebody asked a turn for, if the turn does not know of it yet. `heeded` names the one it knows.
local function unheeded(signal, heeded)
  if not signal or signal == '' then return nil end
  if heeded ~= '' and cjson.decode(signal).requestedAt == tonumber(heeded) then return nil end
  return signal
end

local RANK = { superseded = 1, human_takeover = 2, cancelled = 3 }

-- Asks the open turn of a conversation to stop; a stronger request takes the place of a weaker one. A parked turn is
-- marked as woken unless it must first hear how what it sent came out. Answers what is needed to wake it, or the request
-- that stands already.
local function signal_stop(conversation, turn, json, now)
  local conv, record = key('conv', conversation), key('turn', turn)
  local cause = cjson.decode(json).cause
  local known = redis.call('HGET', conv, 'signal')
  if known and known ~= '' and RANK[cjson.decode(known).cause] >= RANK[cause] then return nil, known end
  local signal = string.sub(json, 1, -2) .. ',"requestedAt":' .. string.format('%.0f', now) .. '}'
  redis.call('HSET', conv, 'signal', signal)
  local park = redis.call('HMGET', record, 'parkDueAt', 'parkKind')
  local waits = park[1] and park[1] ~= ''
  local wakes = waits and not (cause == 'superseded' and park[2] == 'verification')
  if wakes then
    redis.call('HSET', record, 'woken', '1')
    redis.call('ZADD', key('due'), now + KEEP.wakeUpMs, conversation)
  end
  redis.call('PUBLISH', key('stops'), turn)
  return wakes and 'wake' or 'running', signal
end

-- Whether two messages, as JSON, were written by the same person, as surely.
local function same_requester(one, other)
  local first, second = cjson.decode(one).requester, cjson.decode(other).requester
  return first.id == second.id and first.assurance == second.assurance
end

-- Never more than a model can be shown.
local MERGED = 20

-- How many messages the next turn answers: those an ended turn left to it, those one person wrote shortly after each
-- other, or all of them when a person has taken over.
local function messages_to_take(conversation, owner, burstMs, merge)
  local mail = key('mail', conversation)
  if owner == 'human' then return math.min(redis.call('LLEN', mail), 100) end
  if burstMs == 0 and not merge then return 1 end
  local first, count
  for index, json in ipairs(redis.call('LRANGE', mail, 0, MERGED - 1)) do
    local message = cjson.decode(json)
    if first then
      local same = message.requester.id == first.requester.id and message.requester.assurance == first.requester.assurance
      local close = burstMs > 0 and message.acceptedAt - first.acceptedAt <= burstMs
      if not same or not (merge or close) then break end
      if not merge then first = message end
    else
      first = message
    end
    count = index
  end
  return count
end

-- Until when the oldest message waits for the rest of its burst; nil when it need not.
local function burst_until(conversation, owner, burstMs, now)
  if burstMs == 0 or owner == 'human' then return nil end
  local untilMs = cjson.decode(redis.call('LINDEX', key('mail', conversation), 0)).acceptedAt + burstMs
  if now < untilMs then return string.format('%.0f', untilMs) end
  return nil
end

-- Adds the accounts of models that are limited to the head of a claimed turn. Hardly ever any.
local function tell_limits(head)
  local limited = redis.call('HGETALL', key('limited'))
  if #limited == 0 then return end
  head[#head + 1] = 'limited'
  head[#head + 1] = cjson.encode(limited)
end

-- A case of a batch has come to its end, or never began; told once.
local function finish_case(batch, turn, result)
  local case, done, counts = key('case', batch .. '/' .. turn), key('casesdone', batch), key('casecount', batch)
  local json = cjson.encode(result)
  redis.call('SET', case, json, 'PX', KEEP.turnsMs)
  redis.call('RPUSH', done, json)
  redis.call('HINCRBY', counts, result.skipped and 'skipped:' .. result.skipped or result.outcome .. '/' .. result.reason, 1)
  redis.call('PEXPIRE', done, KEEP.turnsMs)
  redis.call('PEXPIRE', counts, KEEP.turnsMs)
end

-- Why a case may not run any more, whatever its plan said.
local function outdated(conversation, case)
  local state = redis.call('HMGET', key('conv', conversation), 'acceptedAt', 'takenAt')
  if state[1] and tonumber(state[1]) > case.plannedAt then return 'newer_message' end
  if state[2] then return 'taken_over' end
  return nil
end

-- Opens a turn for the oldest case of a conversation that may still run; nil when none may. It answers the messages of the
-- turn it repeats under the same intent, so that what was done then stays done.
local function open_case(conversation, claimer, epoch, now)
  local cases, conv = key('cases', conversation), key('conv', conversation)
  while true do
    local json = redis.call('LINDEX', cases, 0)
    if not json then return nil end
    local case = cjson.decode(json)
    local why = outdated(conversation, case)
    if not why then
      local turn = claimer.candidate
      local account = redis.call('HGET', conv, 'account')
      redis.call('HSET', conv, 'owner', 'agent')
      local token = take_claim(conversation, claimer, epoch, 0, { 'turn', turn })
      redis.call('HSET', key('turn', turn), 'conversation', conversation, 'startedAt', now, 'messages', #case.messages,
        'given', cjson.encode(case.messages), 'intent', case.intent, 'batch', case.batch, 'reprocessOf', case.turn,
        'attempt', case.attempt, 'job', claimer.job)
      redis.call('HSET', key('turn', case.turn), 'reprocessedAs', turn)
      redis.call('ZADD', key('due'), now + 4 * KEEP.slackMs, conversation)
      local head = { 'intent', case.intent }
      if account then
        head[3], head[4] = 'account', account
      end
      tell_limits(head)
      return { 'claimed', token, epoch, turn, 'agent', head, case.messages, {} }
    end
    redis.call('LPOP', cases)
    finish_case(case.batch, case.turn, { turn = case.turn, skipped = why })
  end
end

-- Notes since when a message waits behind the open turn of a conversation; `taken` of the `waiting` ones are not behind it.
local function note_behind(conversation, taken, waiting)
  if waiting > taken then
    local behind = redis.call('LINDEX', key('mail', conversation), taken)
    redis.call('ZADD', key('behind'), string.match(behind, '"acceptedAt":(%d+)}$') or 0, conversation)
  else
    redis.call('ZREM', key('behind'), conversation)
  end
end

-- Opens a turn for the oldest of the `waiting` messages of a mailbox, under a new claim; `merge` when an ended turn left
-- its messages to this one. Answers as claim-turn does, but without what the conversation remembers.
local function open_turn(conversation, claimer, epoch, owner, now, waiting, merge, account)
  local turn = claimer.candidate
  local count = messages_to_take(conversation, owner, claimer.burstMs or 0, merge)
  if merge then redis.call('HDEL', key('conv', conversation), 'merge') end
  local token = take_claim(conversation, claimer, epoch, 0, { 'turn', turn })
  redis.call('HSET', key('turn', turn), 'conversation', conversation, 'startedAt', now, 'messages', count,
    'job', claimer.job)
  note_behind(conversation, count, waiting)
  redis.call('ZADD', key('due'), now + 4 * KEEP.slackMs, conversation)
  local head = account and { 'account', account } or {}
  tell_limits(head)
  return { 'claimed', token, epoch, turn, owner, head, redis.call('LRANGE', key('mail', conversation), 0, count - 1), {} }
end
