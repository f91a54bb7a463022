import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { array, assert, asyncProperty, string } from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { complete } from '../../../src/commands/completion/complete.ts'
import type { Place } from '../../../src/commands/completion/live-values.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import type { NewJob } from '../../../src/files/calls/job-record.ts'
import { recordCall, type RecordedCall } from '../../support/call-records.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { runs } from '../../support/sample.ts'

/** 2026-11-22, 12:00:00 UTC. */
const now = Date.UTC(2026, 10, 22, 12)
let place: Place

beforeEach(() => {
  const home = temporaryFolder()
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  place = { home, cwd, env: { HOME: home }, platform: 'linux', now }
})

const stateFolder = () => join(place.home, '.local/state/modelgate')

/** As the scripts of 0.1.0 ask. */
async function lines(...words: string[]): Promise<string[][]> {
  const text = await complete(words, place)
  expect(text === '' || text.endsWith('\n')).toBe(true)
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'))
}

const values = async (...words: string[]) => (await lines(...words)).map(([value]) => value)

const job: NewJob = {
  kind: 'video',
  command: 'video generate',
  model: 'veo',
  base_url: 'https://gw.example',
  is_sandbox: false,
  request: {},
  idempotency_key: 'k',
  output: { output: null, folder: null, force: false, cwd: '/' },
}

/** @param minutes how long ago it was started */
async function startJob(id: string | null, minutes: number, prompt = 'A paper boat'): Promise<void> {
  const clock = { now: () => now - minutes * 60_000 }
  const stored = await new JobStore(stateFolder(), clock).create(
    { ...job, idempotency_key: `${id}-${minutes}` },
    prompt,
  )
  if (id !== null) await stored.update({ id, state: 'in_progress' })
}

async function logCall(call: RecordedCall, minutes = 1): Promise<void> {
  await recordCall(stateFolder(), call, now - minutes * 60_000)
}

describe('jobs', () => {
  test('are told by id, the newest first, with state, age and prompt', async () => {
    await startJob('video_old', 200)
    await startJob('video_new', 3, 'A\n\tpaper   boat \u001b[31m')
    await startJob(null, 1)
    expect(await lines('videos', 'video', 'status')).toEqual([
      ['video_new', 'in_progress, 3 min ago: A paper boat [31m'],
      ['video_old', 'in_progress, 3 h ago: A paper boat'],
    ])
    expect(await values('responses')).toEqual([])
  })

  test('of the other kind are background responses', async () => {
    const store = new JobStore(stateFolder(), { now: () => now })
    const stored = await store.create({ ...job, kind: 'response', command: 'respond' }, 'A paper boat')
    await stored.update({ id: 'resp_1', state: 'completed' })
    expect(await lines('responses')).toEqual([['resp_1', 'completed, 0 s ago: A paper boat']])
    await startJob('video_1', 2)
    expect(await values('jobs', 'wait')).toEqual(['resp_1', 'video_1'])
  })

  test('of hostile ids are left out, long prompts are cut', async () => {
    await startJob('bad\u001b]0;x\u0007', 1)
    await startJob('line\nbreak', 2)
    await startJob('right-to-left-\u202e', 3)
    await startJob('two words', 4, 'é'.repeat(500))
    const [[id, about], ...rest] = (await lines('videos')) as [[string, string]]
    expect([id, rest]).toEqual(['two words', []])
    expect([about.length, about.slice(-2)]).toEqual([60, 'é…'])
  })
})

describe('models', () => {
  test('are of the kind of the command: configured, then in use, then known', async () => {
    writeFiles(place.cwd, { '.modelgaterc.json': '{"image_model": "ours-image"}' })
    mkdirSync(join(place.home, '.config/modelgate'), { recursive: true })
    writeFileSync(
      join(place.home, '.config/modelgate/config.yaml'),
      'text_model: ours-text\nprofiles:\n  work:\n    image_model: work-image\n',
    )
    await logCall({ command: 'image create', model: 'lately-image' })
    await logCall({ command: 'respond', model: 'lately-text' })
    expect(await values('models', 'generate')).toEqual(['ours-text', 'lately-text'])
    const images = await lines('models', 'image', 'create')
    expect(images.slice(0, 4)).toEqual([
      ['work-image', 'configured'],
      ['ours-image', 'configured'],
      ['lately-image', 'used lately'],
      ['gpt-image-2', 'image model with any size within a rule'],
    ])
    expect(images.flat()).not.toContain('sora-2')
    expect(await values('models', 'video', 'generate')).toContain('sora-2')
    expect(await values('models')).toEqual(expect.arrayContaining(['ours-text', 'ours-image', 'sora-2']))
  })
})

test('profiles are told with the host of their gateway, and nothing else of it', async () => {
  const folder = join(place.home, '.config/modelgate')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      profiles: { work: { base_url: 'https://user:sk-secret@gw.example/v1?key=sk-secret' }, 'at home': {} },
    }),
  )
  expect(await complete(['profiles'], place)).toBe('work\tgw.example\nat home\t\n')
})

test('calls are told by the beginning of their id, with command, age and prompt', async () => {
  await logCall(
    { id: '2'.repeat(16), command: 'generate', arguments: ['generate', 'x'], prompt: 'Name\nthree rivers' },
    300,
  )
  await logCall({ id: '1'.repeat(16), command: 'image create' }, 2)
  expect(await lines('calls')).toEqual([
    ['11111111', 'image create, 2 min ago'],
    ['22222222', 'generate, 5 h ago: Name three rivers'],
  ])
})

describe('nothing is said', () => {
  test.each([[[]], [['unheard-of']], [['constructor']], [['videos']], [['profiles']], [['calls']]])(
    'for %j where there is nothing',
    async (words) => {
      expect(await complete(words, place)).toBe('')
    },
  )

  test('of files that cannot be read', async () => {
    const folder = join(place.home, '.config/modelgate')
    mkdirSync(join(folder, 'config.yaml'), { recursive: true })
    mkdirSync(join(stateFolder(), 'jobs/20261122T000000000-0123456789abcdef'), { recursive: true })
    mkdirSync(join(stateFolder(), 'log/2026-11.jsonl'), { recursive: true })
    for (const kind of ['videos', 'responses', 'profiles', 'calls']) expect(await values(kind)).toEqual([])
    writeFileSync(join(folder, 'config.json'), '{ "profiles": ')
    expect(await values('profiles')).toEqual([])
  })
})

test('whatever a file holds, each line is one value that no shell or terminal acts on', async () => {
  await assert(
    asyncProperty(array(string({ unit: 'binary', minLength: 1 }), { maxLength: 8 }), async (names) => {
      const folder = join(place.home, '.config/modelgate')
      mkdirSync(folder, { recursive: true })
      const profiles = Object.fromEntries(names.map((name) => [name, { base_url: 'https://gw.example' }]))
      writeFileSync(join(folder, 'config.json'), JSON.stringify({ profiles }))
      for (const line of (await complete(['profiles'], place)).split('\n').slice(0, -1)) {
        expect(line).toMatch(/^[^\p{Cc}\p{Cf}]+\tgw\.example$/u)
        expect(names).toContain(line.split('\t')[0])
      }
    }),
    runs(25),
  )
})

describe('the jobs of a manifest', () => {
  const manifest = `version: 1
jobs:
  hero:
    image create: { prompt: A }
    out: assets/hero.webp
  photos:
    each: products.csv
    out: 7
`

  test('are those of the nearest one, upwards', async () => {
    writeFiles(place.home, { 'modelgate.yaml': manifest })
    expect(await lines('assets', 'run')).toEqual([
      ['hero', 'assets/hero.webp'],
      ['photos', ''],
    ])
    writeFiles(place.cwd, { 'modelgate.yaml': 'jobs: { logo: { out: logo.png } }' })
    expect(await lines('assets', 'run', 'pick')).toEqual([['logo', 'logo.png']])
  })

  test.each(['jobs: [', 'jobs: 7', '', '- a', `jobs: { "a\\u001b[2J": 1 }`, `# ${'x'.repeat(1_000_000)}`])(
    'are none in a broken one',
    async (text) => {
      writeFiles(place.cwd, { 'modelgate.yaml': text })
      expect(await lines('assets', 'run')).toEqual([])
    },
  )
})
