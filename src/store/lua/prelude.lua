-- Prepended to every script. KEYS[1] is the hash tag of the lane; all other keys derive from it (see keys.ts).
-- KEEP holds the durations and counts of retention.ts and STORE's slack, in ms; the loader writes it above this line.

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

-- Writes delivery records that do not exist yet and queues them behind the conversation's earlier ones.
local function deliver(conversation, deliveries, now)
  for _, delivery in ipairs(deliveries) do
    local record = key('delivery', delivery.id)
    if redis.call('EXISTS', record) == 0 then
      redis.call('HSET', record, 'record', delivery.record, 'status', 'pending', 'attempts', 0, 'createdAt', now)
      if redis.call('RPUSH', key('outbox', conversation), delivery.id) == 1 then
        redis.call('ZADD', key('undelivered'), now + KEEP.slackMs, conversation)
      end
    end
  end
end

-- Voids every earlier claim of the conversation and makes this one the current one. `seq` tells the next claim whether
-- this one put anything on record.
local function take_claim(conversation, claimer, epoch, seq, more)
  local token = epoch .. '-' .. claimer.nonce
  redis.call('HSET', key('conv', conversation), 'epoch', epoch, 'token', token, 'worker', claimer.worker,
    'claimSeq', seq, unpack(more))
  return token
end

-- Opens a turn for the oldest message of a mailbox that is not empty, under a new claim. Answers as claim-turn does, but
-- without what the conversation remembers.
local function open_turn(conversation, claimer, epoch, owner, now)
  local turn = claimer.candidate
  local token = take_claim(conversation, claimer, epoch, 0, { 'turn', turn, 'stuck', 0, 'lost', 0, 'heldUntil', '' })
  redis.call('HSET', key('turn', turn), 'conversation', conversation, 'startedAt', now, 'messages', 1,
    'job', claimer.job)
  redis.call('ZADD', key('due'), now + 4 * KEEP.slackMs, conversation)
  return { 'claimed', token, epoch, turn, owner, {}, { redis.call('LINDEX', key('mail', conversation), 0) }, {} }
end
