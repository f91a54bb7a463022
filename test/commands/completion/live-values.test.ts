import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { array, assert, asyncProperty, string } from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { complete } from '../../../src/commands/completion/complete.ts'
import type { Place } from '../../../src/commands/completion/live-values.ts'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { newJob } from '../../files/calls/job-samples.ts'
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
  const rows = text.split('\n').slice(0, -1)
  return rows.map((line) => line.split('\t'))
}

const values = async (...words: string[]) => (await lines(...words)).map(([value]) => value)

/** @param minutes how long ago it was started */
async function startJob(id: string | null, minutes: number, prompt = 'A paper boat', more: object = {}) {
  const store = new JobStore(stateFolder(), { now: () => now - minutes * 60_000 })
  const stored = await store.create(newJob({ idempotency_key: `${id}-${minutes}`, ...more }), prompt)
  if (id !== null) await stored.update({ id, state: 'in_progress' })
}

const logCall = (call: RecordedCall, minutes = 1) => recordCall(stateFolder(), call, now - minutes * 60_000)

test('jobs are told by id, the newest first, with state, age and prompt', async () => {
  await startJob('video_old', 200)
  await startJob('video_new', 3, 'A\n\tpaper   boat \u001b[31m')
  await startJob(null, 1)
  expect(await lines('videos', 'video', 'status')).toEqual([
    ['video_new', 'in_progress, 3 min ago: A paper boat [31m'],
    ['video_old', 'in_progress, 3 h ago: A paper boat'],
  ])
  expect(await values('responses')).toEqual([])
})

test('jobs of the other kind are background responses', async () => {
  await startJob('resp_1', 0, 'A paper boat', { kind: 'response', command: 'respond' })
  expect(await lines('responses')).toEqual([['resp_1', 'in_progress, 0 s ago: A paper boat']])
  await startJob('video_1', 2)
  expect(await values('jobs', 'wait')).toEqual(['resp_1', 'video_1'])
})

test('jobs of hostile ids are left out, long prompts are cut', async () => {
  for (const id of ['bad\u001b]0;x\u0007', 'line\nbreak', 'right-to-left-\u202e']) await startJob(id, 1)
  await startJob('two words', 4, 'é'.repeat(500))
  expect(await lines('videos')).toEqual([['two words', `in_progress, 4 min ago: ${'é'.repeat(35)}…`]])
})

test('models are of the kind of the command: configured, then in use, then known', async () => {
  writeFiles(place.cwd, { '.modelgaterc.json': '{"image_model": "ours-image"}' })
  const user = 'text_model: ours-text\nprofiles: { work: { image_model: work-image } }\n'
  writeFiles(place.home, { '.config/modelgate/config.yaml': user })
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

test('profiles are told with the host of their gateway, and nothing else of it', async () => {
  const base_url = 'https://user:sk-secret@gw.example/v1?key=sk-secret'
  const user = JSON.stringify({ profiles: { work: { base_url }, 'at home': {} } })
  writeFiles(place.home, { '.config/modelgate/config.json': user })
  expect(await complete(['profiles'], place)).toBe('work\tgw.example\nat home\t\n')
})

test('calls are told by the beginning of their id, with command, age and prompt', async () => {
  const words = { arguments: ['generate', 'x'], prompt: 'Name\nthree rivers' }
  await logCall({ id: '2'.repeat(16), command: 'generate', ...words }, 300)
  await logCall({ id: '1'.repeat(16), command: 'image create' }, 2)
  expect(await lines('calls')).toEqual([
    ['11111111', 'image create, 2 min ago'],
    ['22222222', 'generate, 5 h ago: Name three rivers'],
  ])
})

const kinds = ['videos', 'responses', 'profiles', 'calls', 'unheard-of', 'constructor']

test('where there is nothing, or what cannot be read, nothing is said', async () => {
  expect(await complete([], place)).toBe('')
  for (const kind of kinds) expect(await complete([kind], place)).toBe('')
  for (const path of ['jobs/20261122T000000000-0123456789abcdef', 'log/2026-11.jsonl', 'calls/2026-11.jsonl'])
    mkdirSync(join(stateFolder(), path), { recursive: true })
  mkdirSync(join(place.home, '.config/modelgate/config.yaml'), { recursive: true })
  for (const kind of kinds) expect(await complete([kind], place)).toBe('')
})

test('whatever a file holds, each line is one value that no shell or terminal acts on', async () => {
  await assert(
    asyncProperty(array(string({ unit: 'binary', minLength: 1 }), { maxLength: 8 }), async (names) => {
      const profiles = Object.fromEntries(names.map((name) => [name, { base_url: 'https://gw.example' }]))
      writeFiles(place.home, { '.config/modelgate/config.json': JSON.stringify({ profiles }) })
      for (const line of (await complete(['profiles'], place)).split('\n').slice(0, -1)) {
        expect(line).toMatch(/^[^\p{Cc}\p{Cf}]+\tgw\.example$/u)
        expect(names).toContain(line.split('\t')[0])
      }
    }),
    runs(25),
  )
})

test('the jobs of a manifest are those of the nearest one, upwards', async () => {
  writeFiles(place.home, {
    'modelgate.yaml': 'jobs: { hero: { out: assets/hero.webp }, photos: { out: 7 } }',
  })
  expect(await lines('assets', 'run')).toEqual([
    ['hero', 'assets/hero.webp'],
    ['photos', ''],
  ])
  writeFiles(place.cwd, { 'modelgate.yaml': 'jobs: { logo: { out: logo.png } }' })
  expect(await lines('assets', 'run', 'pick')).toEqual([['logo', 'logo.png']])
})

test.each(['jobs: [', 'jobs: 7', '', '- a', `jobs: { "a\\u001b[2J": 1 }`, `# ${'x'.repeat(1_000_000)}`])(
  'a broken manifest has no jobs: %.20s',
  async (text) => {
    writeFiles(place.cwd, { 'modelgate.yaml': text })
    expect(await lines('assets', 'run')).toEqual([])
  },
)
