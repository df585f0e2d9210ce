-- Puts the next events of a turn on record together with what they did to the ledger, right before an outside call.
-- With a reservation it also writes the row of the effect that is about to be sent, if the ledger lets it run.
-- KEYS  1 lane tag
-- ARGV  1 conversation  2 turn  3 token  4 seq before  5 clock offset in ms
--       6 moves, JSON [{operation, status, outcome?}] or ''  7 reservation, JSON or ''
--       8 the stop the turn knows of already, '' if none  9 account of the model that is about to be asked, or ''
--       10.. events, JSON each
-- Returns {'recorded'} | {'lost-claim'} | {'stopped', signal JSON} | {'limited', until ms}
--       | {'refused', why, operation, status, valid until or '', outcome JSON or ''}
-- Invariants: only the current claim writes; a refusal, a stop or a limit writes nothing; a repeat answers {'recorded'}.
local conversation, turn, token = ARGV[1], ARGV[2], ARGV[3]
local seq = tonumber(ARGV[4])
local conv = key('conv', conversation)

local state = redis.call('HMGET', conv, 'token', 'signal')
if state[1] ~= token then return { 'lost-claim' } end
local signal = unheeded(state[2], ARGV[8])
if signal then
  if redis.call('LLEN', key('events', turn)) ~= seq then return { 'recorded' } end
  return { 'stopped', signal }
end
local now = clock(ARGV[5])
if ARGV[9] ~= '' and redis.call('LLEN', key('events', turn)) == seq then
  local untilMs = redis.call('HGET', key('limited'), ARGV[9])
  if untilMs and now < tonumber(untilMs) then return { 'limited', untilMs } end
end

local wanted = ARGV[7] ~= '' and cjson.decode(ARGV[7])
if wanted and (wanted.peek or redis.call('LLEN', key('events', turn)) == seq) then
  local row = key('op', wanted.operation)
  local known = redis.call('HMGET', row, 'status', 'actionHash', 'validUntil', 'outcome')
  local function refused(why, operation, fields)
    return { 'refused', why, operation, fields[1] or '', fields[3] or '', fields[4] or '' }
  end
  if known[1] and LIVE[known[1]] then
    local why = known[2] == wanted.actionHash and 'duplicate' or 'conflict'
    return refused(why, wanted.operation, known)
  end
  if wanted.after then
    local earlier = redis.call('HMGET', key('op', wanted.after), 'status', 'tool')
    if earlier[1] ~= 'verified' or earlier[2] ~= wanted.tool then
      return refused('unknown_predecessor', wanted.after, earlier[1] and { earlier[1] } or {})
    end
  end
  local targets = key('targets', conversation)
  local operations = redis.call('HGET', targets, wanted.target) or ''
  for other in string.gmatch(operations, '[^,]+') do
    local fields = redis.call('HMGET', key('op', other), 'status', 'intent', 'validUntil', 'outcome')
    if other ~= wanted.operation and fields[2] ~= wanted.intent and LIVE[fields[1] or ''] then
      return refused('possible_repeat', other, fields)
    end
  end
  if wanted.peek then return { 'recorded' } end
  redis.call('HINCRBY', row, 'attempts', 1)
  redis.call('HDEL', row, 'outcome', 'settledAt', 'verifiedAt')
  redis.call('HSET', row, 'status', 'attempted', 'actionHash', wanted.actionHash, 'intent', wanted.intent,
    'tool', wanted.tool, 'conversation', conversation, 'turn', turn, 'row', wanted.row,
    'attemptedAt', now, 'validUntil', wanted.validUntil or '')
  redis.call('PERSIST', row)
  if not known[1] then redis.call('HSET', targets, wanted.target, operations .. wanted.operation .. ',') end
  redis.call('PEXPIRE', targets, KEEP.ledgerMs)
end

if not append(turn, seq, 10) then return { 'recorded' } end
if ARGV[6] ~= '' then move(cjson.decode(ARGV[6]), now) end
local parked = redis.call('HGET', key('turn', turn), 'parkDueAt')
if parked and parked ~= '' then redis.call('HSET', key('turn', turn), 'parkDueAt', '') end
return { 'recorded' }
