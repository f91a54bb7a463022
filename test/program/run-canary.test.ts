import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { echoGateway, spellings, type Failure } from './echo-gateway.ts'
import { startProgram } from './start-program.ts'
import { sample } from '../support/sample.ts'

/** A job of each command, with and without variants and asserts, and one that goes on with another's result. */
const manifest = `version: 1
lock_prompts: true
jobs:
  hero:
    image create: { model: gpt-image-2, prompt: A boat }
    out: hero.png
  wide:
    image edit: { model: gpt-image-2, prompt: Wide, image: in.png }
    variants: 2
    out: wide.png
  small:
    image create: { model: gpt-image-2, prompt: Small }
    assert: { width: 4000 }
    out: small.png
  note:
    generate: { model: some, prompt: What is this? }
    on_unknown: stop
    out: note.txt
  copy:
    respond: { model: some, input: Hello, attach: '@hero' }
    out: copy.txt
  named:
    image create: { model: gpt-image-2, prompt: Named }
    out: 'named/{id}-{model}.{ext}'
  teaser:
    video generate: { model: veo, prompt: A boat }
    out: teaser.mp4
  night:
    video remix: { model: sora-2, source: video_123456, prompt: Night }
    out: night.mp4
`

/** What a user does one after the other; none of it may show or keep the key. */
const calls: readonly string[] = [
  'run --plan',
  'run --generate',
  'run --generate --json',
  'run pick wide 2',
  'run --generate --jsonl --regenerate hero --regenerate note',
  'run --generate --debug --regenerate hero --regenerate teaser',
  'run --generate --shard 1/1 --regenerate copy',
  'run merge .modelgate/parts',
  'run --check --json',
  'run --plan',
  'run report --format html,markdown,json',
  'run clean --json',
  'run adopt note',
]

const failures: readonly Failure[] = ['none', 'failed', 'refused', 'urls']

const cases = failures.flatMap((failure) =>
  Object.keys(spellings).map((spelling) => [failure, spelling] as const),
)

test.each(sample(cases, 1))(
  'a run on a gateway that is %s shows and keeps no key: %s',
  async (failure, spelling) => {
    const key = canaryKey()
    const gateway = await echoGateway(spellings[spelling]!, failure)
    const home = temporaryFolder()
    const cwd = join(home, 'work')
    mkdirSync(cwd)
    writeFiles(cwd, { 'in.png': pngBytes({ width: 2, height: 1 }), 'modelgate.yaml': manifest })
    const github = {
      GITHUB_ACTIONS: 'true',
      GITHUB_OUTPUT: join(home, 'output'),
      GITHUB_STEP_SUMMARY: join(home, 'summary'),
    }
    const env = { HOME: home, MODELGATE_BASE_URL: gateway.url, MODELGATE_API_KEY: key, ...github }
    for (const [at, call] of calls.entries()) {
      const { context, passWaits } = startProgram(call.split(' '), { home, cwd, env, terminal: at % 2 === 1 })
      const code = await passWaits()
      const possible =
        call.startsWith('run --generate') || call.startsWith('run merge') ? [12] : [0, 2, 10, 13]
      expect(possible, `exit code of ${call}: ${context.stderr.text}`).toContain(code)
      expectNoKey(`standard output of ${call}`, context.stdout.bytes, key)
      expectNoKey(`standard error of ${call}`, context.stderr.bytes, key)
    }
    expectNoKeyBelow(home, key)
  },
)
