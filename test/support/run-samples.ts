import type * as run from '../../src/events/run-document.ts'

/** How many instances are in each state: none, but for those given. */
export function stateCounts(counts: Partial<run.StateCounts> = {}): run.StateCounts {
  return {
    fresh: 0,
    restorable: 0,
    changed: 0,
    in_the_way: 0,
    adopted: 0,
    stale: 0,
    new: 0,
    rejected: 0,
    lost: 0,
    awaiting: 0,
    unfetched: 0,
    unknown: 0,
    blocked: 0,
    pending: 0,
    ...counts,
  }
}

export const sampleRunFile: run.RunFile = {
  path: 'assets/hero.webp',
  bytes: 48_213,
  sha256: '0'.repeat(64),
  mime_type: 'image/webp',
  width: 1536,
  height: 1024,
  seconds: null,
}

const shop = { version: 1, manifest: 'modelgate.yaml', folder: '/work/shop', warnings: [] } as const

/** An instance that was generated. */
export const sampleInstance: run.RunInstance = {
  instance: 'hero',
  job: 'hero',
  at: 'modelgate.yaml:8:3',
  command: 'image create',
  model: 'gpt-image-2',
  lane: 'image',
  output: 'assets/hero.webp',
  state: 'fresh',
  action: 'generated',
  key: '1'.repeat(64),
  reasons: ['prompt changed'],
  creates: 1,
  files: [sampleRunFile],
  placed: true,
  took_s: 12.5,
  cost: { amount: 0.04, currency: 'USD', estimate: true, reason: null },
  error: null,
}

export const failedInstance: run.RunInstance = {
  ...sampleInstance,
  instance: 'banner',
  job: 'banner',
  command: 'image edit',
  output: 'assets/banner.webp',
  state: 'new',
  action: 'failed',
  reasons: [],
  files: [],
  placed: false,
  took_s: 2,
  cost: null,
  error: { code: 'blocked', exit_code: 9, billed: 'maybe', message: 'The prompt was blocked.' },
}

export const sampleRun: run.RunDocument = {
  ...shop,
  command: 'run',
  mode: 'run',
  sandbox: false,
  run: '20261122-1',
  shard: null,
  part: null,
  instances: [sampleInstance, failedInstance],
  states: stateCounts({ fresh: 1, new: 1 }),
  creates: { planned: 2, made: 1, limit: 40 },
  estimate: { amount: 0.08, currency: 'USD', estimate: true, reason: null },
  cost: null,
  orphans: ['old'],
  left: [
    {
      state: 'failed',
      instances: ['banner'],
      message: 'The prompt was blocked.',
      commands: [['modelgate', 'run']],
    },
    { state: 'pending', instances: ['teaser'], message: 'It waits for banner.', commands: [] },
  ],
  warnings: ['odd'],
}

export const sampleRunChange: run.RunChangeDocument = {
  ...shop,
  command: 'run pick',
  instances: [{ instance: 'hero', variant: 2, files: [sampleRunFile] }],
}

export const sampleRunReport: run.RunReportDocument = {
  version: 1,
  command: 'run report',
  manifest: 'modelgate.yaml',
  states: stateCounts({ fresh: 1 }),
  files: [{ path: 'report.html', format: 'html', bytes: 12_345 }],
  warnings: [],
}

export const sampleRunRestore: run.RunRestoreDocument = {
  ...shop,
  command: 'run restore',
  instance: 'hero',
  versions: [
    {
      number: 1,
      time: '2026-11-22T12:00:00.000Z',
      path: 'assets/hero.webp',
      sha256: '0'.repeat(64),
      bytes: 99,
    },
  ],
  restored: null,
  adopted: null,
}

export const sampleRunPush: run.RunPushDocument = {
  ...shop,
  command: 'run push',
  store: 's3://assets/shop',
  files: [
    { instance: 'hero', path: 'assets/hero.webp', sha256: '0'.repeat(64), bytes: 99, state: 'new' },
    { instance: 'logo', path: 'assets/logo.webp', sha256: '1'.repeat(64), bytes: 99, state: 'present' },
  ],
}

export const sampleRunClean: run.RunCleanDocument = {
  ...shop,
  command: 'run clean',
  removed: false,
  items: [{ path: '.modelgate/replaced/00/0000', kind: 'replaced', instance: null, bytes: 99 }],
  bytes: 99,
}

/** One of every event of a run. */
export const sampleRunEvents = {
  'plan-make': {
    type: 'plan-make',
    run: '20261122-1',
    folder: '/work/shop',
    part: null,
    instances: 2,
    states: stateCounts({ new: 2 }),
    lanes: [{ lane: 'image', to_make: 2, concurrency: 4 }],
    creates: { planned: 2, made: 0, limit: 40 },
    estimate: { amount: 0.08, currency: 'USD', estimate: true, reason: null },
  },
  'instance-start': {
    type: 'instance-start',
    instance: 'hero',
    lane: 'image',
    variant: 1,
    attempt: 1,
    resumed: false,
  },
  'instance-progress': {
    type: 'instance-progress',
    instance: 'teaser',
    variant: 1,
    state: 'in_progress',
    percent: 45,
  },
  'instance-end': { type: 'instance-end', ...sampleInstance },
  'lane-change': {
    type: 'lane-change',
    lane: 'image',
    concurrency: 2,
    pause_s: 20,
    reason: 'The gateway asks to wait.',
  },
  'circuit-change': { type: 'circuit-change', open: true, reason: 'Five failures in a row.' },
} as const satisfies { readonly [Type in run.RunEvent['type']]: Extract<run.RunEvent, { type: Type }> }
