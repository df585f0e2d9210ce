import type { ScenarioName } from './scenarios.ts';

/** A fault somebody could make, as a rewrite of the text of the tree, and the scenario that must notice it. */
export type PlantedFault = {
  name: string;
  file: string;
  /** Occurs once in the file. */
  find: string;
  replace: string;
  scenario: ScenarioName;
};

const LUA = 'src/store/lua';

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a step of a turn is not fenced',
    file: `${LUA}/record-transition.lua`,
    find: "if state[1] ~= token then return { 'lost-claim' } end",
    replace: '',
    scenario: 'a worker wakes up too late to act',
  },
  {
    name: 'the end of a turn is not fenced',
    file: `${LUA}/commit-turn.lua`,
    find: "  return { 'lost-claim' }\n",
    replace: '',
    scenario: 'a worker wakes up too late to commit',
  },
  {
    name: 'only the number of a claim is compared, not its nonce',
    file: `${LUA}/record-transition.lua`,
    find: 'if state[1] ~= token then',
    replace: "if string.match(state[1] or '', '^%d+') ~= string.match(token, '^%d+') then",
    scenario: 'two claims have the same number',
  },
  {
    name: 'a commit that is sent again pops again',
    file: `${LUA}/commit-turn.lua`,
    find: 'if not append(turn, seq, 14) then',
    replace: 'if not append(turn, seq, 14) and false then',
    scenario: 'answers to commits are lost',
  },
  {
    name: 'a step that is sent again is an error',
    file: `${LUA}/prelude.lua`,
    find: 'if length == seq + count then return false end',
    replace: '',
    scenario: 'answers of Redis are lost',
  },
  {
    name: 'a known message is taken in again',
    file: `${LUA}/accept-message.lua`,
    find: "if known then return { 'known', known } end",
    replace: '',
    scenario: 'everything is handed over twice at once',
  },
  {
    name: 'a message leaves the mailbox with the claim',
    file: `${LUA}/prelude.lua`,
    find: "redis.call('LINDEX', key('mail', conversation), 0)",
    replace: "redis.call('LPOP', key('mail', conversation))",
    scenario: 'nothing goes wrong',
  },
  {
    name: 'two parks share a child',
    file: 'src/producers/queues.ts',
    find: "digest('park', turnId, String(park))",
    replace: "digest('park', String(park))",
    scenario: 'cancellations take their time',
  },
  {
    name: 'a text is sent again without a look',
    file: `${LUA}/claim-delivery.lua`,
    find: "verdict = 'recheck' end",
    replace: 'end',
    scenario: 'answers of the desk are lost',
  },
  {
    name: 'a commit writes no delivery record',
    file: `${LUA}/commit-turn.lua`,
    find: "if ARGV[10] ~= '' then deliver(conversation, cjson.decode(ARGV[10]), now) end",
    replace: '',
    scenario: 'nothing goes wrong',
  },
  {
    name: 'the word of a tool counts as proof',
    file: 'src/loop/calls.ts',
    find: "step: 'verifying', result, effect: answer(effect, 'applied') }",
    replace: "step: 'done', result, effect: { ...answer(effect, 'applied'), status: 'verified' } }",
    scenario: 'nothing goes wrong',
  },
  {
    name: 'the verdict comes from the end of the child, not from the record',
    file: 'src/loop/runner.ts',
    find: 'of reads) {',
    replace:
      "of [...reads, { read: { verdict: 'landed' as const, at: this.#now(), latencyMs: 0 }, final: true }]) {",
    scenario: 'a worker dies right after it parked',
  },
  {
    name: 'a call is sent without its row in the ledger',
    file: 'src/loop/open-turn.ts',
    find: '      reservation,\n',
    replace: '',
    scenario: 'nothing goes wrong',
  },
  {
    name: 'the ledger does not look for the same operation',
    file: `${LUA}/record-transition.lua`,
    find: 'if known[1] and LIVE[known[1]] then',
    replace: 'if false then',
    scenario: 'the model proposes a refund again',
  },
  {
    name: 'the identity of an effect depends on the round',
    file: 'src/loop/check.ts',
    find: 'intent: state.intent,',
    replace: 'intent: `${state.intent}${state.rounds.length}`,',
    scenario: 'the model proposes a refund again',
  },
  {
    name: 'no answer counts as not done',
    file: 'src/loop/calls.ts',
    find: "return { ...call, step: 'verifying', result, effect: { ...effect, status: 'unknown' } };",
    replace:
      "return { ...call, step: 'done', result: { ...result, kind: 'failed', transient: true }, effect: { ...effect, status: 'not_landed' } };",
    scenario: 'answers of the order service are lost',
  },
  {
    name: 'a call that was open when its worker died is sent again',
    file: 'src/loop/decide.ts',
    find: "return { ...call, step: 'verifying', effect: { ...call.effect, status: 'unknown' } };",
    replace:
      "return { ...call, step: 'done', result: { kind: 'failed', code: 'lost', message: '', transient: true }, effect: { ...call.effect, status: 'not_landed' } };",
    scenario: 'a refund arrives late, within its time',
  },
  {
    name: 'what is not found yet counts as lost',
    file: 'src/loop/calls.ts',
    find: 'if (!answered && read.at > validUntil) {',
    replace: 'if (!answered && validUntil > 0) {',
    scenario: 'a refund arrives late, within its time',
  },
  {
    name: 'the validity is not sent',
    file: 'examples/technova/agent/order-api.ts',
    find: "{ 'x-valid-until': String(validUntil) }",
    replace: '{}',
    scenario: 'a refund arrives after its time',
  },
  {
    name: 'an approval is decided as often as somebody wishes',
    file: `${LUA}/decide-approval.lua`,
    find: "if status ~= 'pending' then",
    replace: 'if false then',
    scenario: 'nothing goes wrong',
  },
  {
    name: 'nobody is asked before a big refund',
    file: 'src/loop/check.ts',
    find: 'return stake.amount > limit\n',
    replace: 'return stake.amount > limit * 1_000\n',
    scenario: 'nothing goes wrong',
  },
  {
    name: 'nobody repairs lost wake-ups',
    file: 'src/workers/reconciler.ts',
    find: 'async tick(): Promise<number> {\n',
    replace: 'async tick(): Promise<number> {\n    if (Date.now() > 0) return 0;\n',
    scenario: 'every wake-up is lost',
  },
  {
    name: 'a wake-up that meets a job in its last moment is dropped',
    file: 'src/producers/queues.ts',
    find: 'keepLastIfActive: true',
    replace: 'keepLastIfActive: false',
    scenario: 'a message comes in between',
  },
];
