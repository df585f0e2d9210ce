import { defineConfig, type OxlintOverride } from 'oxlint';

/** The folders of src. Each imports only from those before it; a new folder needs its place here. */
const LAYERS = [
  ...['contracts', 'loop', 'telemetry', 'store', 'calls', 'models', 'tools', 'skills'],
  ...['retrieval', 'targets', 'producers', 'config', 'workers', 'http', 'cli'],
];
/** What a folder may take from outside, where that is a closed list. */
const CLOSED: Record<string, string[]> = {
  contracts: ['zod'],
  loop: ['canonicalize', 'node:crypto', 'zod'],
};
/** Where a library may be used. */
const HOMES: Record<string, string[]> = {
  ioredis: ['store'],
  bullmq: ['producers', 'workers'],
};

type Restriction = {
  regex?: string;
  group?: string[];
  message: string;
  allowTypeImports?: boolean;
};

function forbid(files: string[], patterns: Restriction[]): OxlintOverride {
  return { files, rules: { 'no-restricted-imports': ['error', { patterns }] } };
}

const OUTSIDE = ['examples', 'test', 'bench', 'evals', 'grafana', 'scripts'];

/** What holds before a layer's own rules take its place: for the files directly in src, and for a folder nobody listed. */
const UNLISTED: OxlintOverride[] = [
  forbid(
    ['src/*'],
    [
      { regex: `^\\.\\./(${OUTSIDE.join('|')})/`, message: 'src knows nothing outside of it.' },
      ...Object.entries(HOMES).map(([library, homes]) => ({
        regex: `^${library}($|/)`,
        message: `${library} is used in src/${homes.join(' and src/')} only.`,
      })),
    ],
  ),
  forbid(['src/*/**'], [{ regex: '.', message: 'This folder has no place in LAYERS yet.' }]),
];

function directionOf(layer: string, index: number): OxlintOverride {
  const later = [...LAYERS.slice(index + 1), ...OUTSIDE].join('|');
  const patterns: Restriction[] = [
    { regex: `^(\\.\\./)+(${later})/`, message: `src/${layer} imports from earlier layers only.` },
    {
      regex: '^(\\.\\./)+index\\.ts$',
      message: 'src/index.ts is for those outside; inside, import from the layer itself.',
    },
  ];
  for (const [library, homes] of Object.entries(HOMES)) {
    if (homes.includes(layer)) continue;
    patterns.push({
      regex: `^${library}($|/)`,
      message: `${library} is used in src/${homes.join(' and src/')} only.`,
      // The commands that look at Redis itself name its type.
      allowTypeImports: layer === 'cli',
    });
  }
  if (layer !== 'cli') {
    patterns.push({
      regex: '^(\\.\\./)+turnkeeper\\.ts$',
      message: 'turnkeeper.ts puts the layers together; none of them knows it.',
    });
  }
  // Last: its exceptions would silence the patterns after it.
  const closed = CLOSED[layer];
  if (closed !== undefined) {
    patterns.push({
      group: ['**', '!./**', '!../**', ...closed.map((name) => `!${name}`)],
      message: `src/${layer} takes nothing but ${closed.join(', ')} from outside.`,
    });
  }
  return forbid([`src/${layer}/**`], patterns);
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'promise', 'node', 'vitest'],
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['dist'],
  categories: { correctness: 'error' },
  rules: {
    eqeqeq: 'error',
    'import/no-cycle': 'error',
    'import/no-self-import': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    // Contracts, ports and cells are records of functions; none of them uses `this`.
    'typescript/unbound-method': 'off',
    // `...[a, b]` keeps on one line what belongs together.
    'unicorn/no-useless-spread': 'off',
    // Awaiting what must arrive is an assertion too.
    'vitest/expect-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/no-standalone-expect': 'off',
    'vitest/require-to-throw-message': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
  },
  overrides: [
    ...UNLISTED,
    ...LAYERS.map(directionOf),
    {
      files: ['src/contracts/**', 'src/loop/**'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...['fetch', 'performance', 'process', 'setImmediate', 'setInterval', 'setTimeout'],
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'Time comes from the Clock port.' },
          { object: 'Math', property: 'random', message: 'The loop is deterministic.' },
        ],
      },
    },
    forbid(
      ['examples/**', 'turnkeeper.config.ts'],
      [
        {
          group: ['**/src/**', '!**/src/index.ts', '!**/src/retrieval/index.ts'],
          message:
            'Examples use what the package exports: src/index.ts and src/retrieval/index.ts.',
        },
      ],
    ),
    forbid(
      ['examples/technova/{order-service,ticket-desk,service}/**'],
      [{ group: ['**/src/**'], message: 'A system of record knows nothing of Turnkeeper.' }],
    ),
    { files: ['src/**', 'examples/**'], rules: { 'node/no-process-env': 'error' } },
    {
      files: [
        'src/config/**',
        'src/store/{embedded-redis,redis-server,debian-redis}.ts',
        'examples/technova/service/**',
      ],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['test/**'],
      rules: {
        'no-control-regex': 'off',
        'typescript/no-base-to-string': 'off',
        // `expect.any(…)` is typed as any.
        'typescript/no-unsafe-assignment': 'off',
        'typescript/require-array-sort-compare': 'off',
        'typescript/restrict-template-expressions': 'off',
      },
    },
    // Plain JavaScript has no types to look at.
    {
      files: ['**/*.mjs'],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
  ],
});
