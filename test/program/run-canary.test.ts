import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canaryKey, expectNoKey, expectNoKeyBelow } from '../support/canary-key.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { echoMachine, spellings, type Failure } from './echo-gateway.ts'
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
    const step = temporaryFolder()
    const env = {
      MODELGATE_API_KEY: key,
      GITHUB_ACTIONS: 'true',
      GITHUB_OUTPUT: join(step, 'output'),
      GITHUB_STEP_SUMMARY: join(step, 'summary'),
    }
    const { home, cwd, run } = await echoMachine(spellings[spelling]!, failure, { env })
    writeFiles(cwd, { 'modelgate.yaml': manifest })
    for (const [at, call] of calls.entries()) {
      const { code, out, err } = await run(call.split(' '), { terminal: at % 2 === 1 })
      const possible =
        call.startsWith('run --generate') || call.startsWith('run merge') ? [12] : [0, 2, 10, 13]
      expect(possible, `exit code of ${call}: ${err.text}`).toContain(code)
      expectNoKey(`standard output of ${call}`, out.bytes, key)
      expectNoKey(`standard error of ${call}`, err.bytes, key)
    }
    for (const folder of [home, step]) expectNoKeyBelow(folder, key)
  },
)
