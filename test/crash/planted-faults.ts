import type { ScenarioName } from './scenarios.ts';

/** A fault somebody could make, as a rewrite of the text of the tree, and the scenario that must notice it. */
export type PlantedFault = { name: string; scenario: ScenarioName; rewrites: readonly Rewrite[] };

export type Rewrite = {
  file: string;
  /** Occurs once in the file. */
  find: string;
  replace: string;
};

const LUA = 'src/store/lua';

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a step of a turn is not fenced',
    scenario: 'a worker wakes up too late to act',
    rewrites: [
      {
        file: `${LUA}/record-transition.lua`,
        find: "if state[1] ~= token then return { 'lost-claim' } end",
        replace: '',
      },
    ],
  },
  {
    name: 'the end of a turn is not fenced',
    scenario: 'a worker wakes up too late to commit',
    rewrites: [
      {
        file: `${LUA}/commit-turn.lua`,
        find: "  return { 'lost-claim' }\n",
        replace: '',
      },
    ],
  },
  {
    name: 'only the number of a claim is compared, not its nonce',
    scenario: 'two claims have the same number',
    rewrites: [
      {
        file: `${LUA}/record-transition.lua`,
        find: 'if state[1] ~= token then',
        replace: "if string.match(state[1] or '', '^%d+') ~= string.match(token, '^%d+') then",
      },
    ],
  },
  {
    name: 'a commit that is sent again pops again',
    scenario: 'answers to commits are lost',
    rewrites: [
      {
        file: `${LUA}/commit-turn.lua`,
        find: 'if not append(turn, seq, 17) then',
        replace: 'if not append(turn, seq, 17) and false then',
      },
    ],
  },
  {
    name: 'a step that is sent again is an error',
    scenario: 'answers of Redis are lost',
    rewrites: [
      {
        file: `${LUA}/prelude.lua`,
        find: 'if length == seq + count then return false end',
        replace: '',
      },
    ],
  },
  {
    name: 'a known message is taken in again',
    scenario: 'everything is handed over twice at once',
    rewrites: [
      {
        file: `${LUA}/accept-message.lua`,
        find: "if not new then return { 'known', turn_of(redis.call('GET', key('msg', message))) } end",
        replace: '',
      },
    ],
  },
  {
    name: 'a message leaves the mailbox with the claim',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: `${LUA}/prelude.lua`,
        find: "redis.call('LRANGE', key('mail', conversation), 0, count - 1), {} }",
        replace: "redis.call('LPOP', key('mail', conversation), count), {} }",
      },
    ],
  },
  {
    name: 'two parks share a child',
    scenario: 'cancellations take their time',
    rewrites: [
      {
        file: 'src/producers/queues.ts',
        find: "digest('park', turnId, String(park))",
        replace: "digest('park', String(park))",
      },
    ],
  },
  {
    name: 'a text is sent again without a look',
    scenario: 'answers of the desk are lost',
    rewrites: [
      {
        file: `${LUA}/claim-delivery.lua`,
        find: "status == 'sending' and 'recheck' or 'send'",
        replace: "'send'",
      },
    ],
  },
  {
    name: 'who asks again about a text is told to send it',
    scenario: 'answers of the desk and about its texts are lost',
    rewrites: [
      {
        file: `${LUA}/claim-delivery.lua`,
        find: "if status == 'sending' and fields[2] == token then",
        replace: 'if false then',
      },
      {
        file: `${LUA}/claim-delivery.lua`,
        find: "status == 'sending' and 'recheck' or 'send'",
        replace: "status == 'sending' and fields[2] ~= token and 'recheck' or 'send'",
      },
    ],
  },
  {
    name: 'an answer that comes while its turn goes back to waiting is forgotten',
    scenario: 'an approval comes just before its turn waits for it again',
    rewrites: [
      {
        file: `${LUA}/park-turn.lua`,
        find: "local decided = status and status ~= 'pending'",
        replace: 'local decided = false',
      },
    ],
  },
  {
    name: 'a commit writes no delivery record',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: `${LUA}/commit-turn.lua`,
        find: "deliver(conversation, ARGV[10] ~= '' and cjson.decode(ARGV[10]) or {}, now)",
        replace: '0',
      },
    ],
  },
  {
    name: 'the word of a tool counts as proof',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: 'src/loop/calls.ts',
        find: "step: 'verifying', result, effect: answer(effect, 'applied') }",
        replace:
          "step: 'done', result, effect: { ...answer(effect, 'applied'), status: 'verified' } }",
      },
    ],
  },
  {
    name: 'the verdict comes from the end of the child, not from the record',
    scenario: 'a worker dies right after it parked',
    rewrites: [
      {
        file: 'src/loop/opening.ts',
        find: 'of reads) {',
        replace:
          "of [...reads, { read: { verdict: 'landed' as const, at, latencyMs: 0 }, final: true }]) {",
      },
    ],
  },
  {
    name: 'a call is sent without its row in the ledger',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: 'src/loop/open-turn.ts',
        find: '      reservation,\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the ledger does not look for the same operation',
    scenario: 'the model proposes a refund again',
    rewrites: [
      {
        file: `${LUA}/record-transition.lua`,
        find: 'if known[1] and LIVE[known[1]] then',
        replace: 'if false then',
      },
    ],
  },
  {
    name: 'the identity of an effect depends on the round',
    scenario: 'the model proposes a refund again',
    rewrites: [
      {
        file: 'src/loop/check.ts',
        find: 'intent: state.intent,',
        replace: 'intent: `${state.intent}${state.rounds.length}`,',
      },
    ],
  },
  {
    name: 'no answer counts as not done',
    scenario: 'answers of the order service are lost',
    rewrites: [
      {
        file: 'src/loop/calls.ts',
        find: "return { ...call, step: 'verifying', result, effect: { ...effect, status: 'unknown' } };",
        replace:
          "return { ...call, step: 'done', result: { ...result, kind: 'failed', transient: true }, effect: { ...effect, status: 'not_landed' } };",
      },
    ],
  },
  {
    name: 'a call that was open when its worker died is sent again',
    scenario: 'a refund arrives late, within its time',
    rewrites: [
      {
        file: 'src/loop/decide.ts',
        find: "if (call.effect === undefined) return { ...call, step: 'admitted' };",
        replace: "if (call.step === 'running') return { ...call, step: 'admitted' };",
      },
      {
        // The ledger would stop it: two faults are needed.
        file: `${LUA}/record-transition.lua`,
        find: 'if known[1] and LIVE[known[1]] then',
        replace: "if known[1] == 'verified' then",
      },
    ],
  },
  {
    name: 'what is not found yet counts as lost',
    scenario: 'a refund arrives late, within its time',
    rewrites: [
      {
        file: 'src/loop/calls.ts',
        find: 'if (!answered && read.at > validUntil) {',
        replace: 'if (!answered && validUntil > 0) {',
      },
    ],
  },
  {
    name: 'the validity is not sent',
    scenario: 'a refund arrives after its time',
    rewrites: [
      {
        file: 'examples/technova/agent/order-api.ts',
        find: "{ 'x-valid-until': String(validUntil) }",
        replace: '{}',
      },
    ],
  },
  {
    name: 'an approval is decided as often as somebody wishes',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: `${LUA}/decide-approval.lua`,
        find: "if status ~= 'pending' then",
        replace: 'if false then',
      },
    ],
  },
  {
    name: 'nobody is asked before a big refund',
    scenario: 'nothing goes wrong',
    rewrites: [
      {
        file: 'src/loop/risk.ts',
        find: 'return stake.amount > limit\n',
        replace: 'return stake.amount > limit * 1_000\n',
      },
    ],
  },
  {
    name: 'nobody repairs lost wake-ups',
    scenario: 'every wake-up is lost',
    rewrites: [
      {
        file: 'src/workers/reconciler.ts',
        find: 'async tick(): Promise<number> {\n',
        replace: 'async tick(): Promise<number> {\n    if (Date.now() > 0) return 0;\n',
      },
    ],
  },
  {
    name: 'a wake-up that meets a job in its last moment is dropped',
    scenario: 'a message comes in between',
    rewrites: [
      {
        file: 'src/producers/queues.ts',
        find: 'deduplication: { id: conversationId, keepLastIfActive: true }',
        replace: 'deduplication: { id: conversationId, keepLastIfActive: false }',
      },
    ],
  },
];
