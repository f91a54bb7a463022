import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launcher } from '../../black-box/spawn-program.ts'
import { canaryKey, expectNoKey } from '../../support/canary-key.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { runOnScreen, type ScreenOptions } from '../../support/screen.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

/** `modelgate init` on a terminal of its own, with every question answered by keys. */
async function wizard(type: NonNullable<ScreenOptions['type']>, home = temporaryFolder(), more = {}) {
  const env = { HOME: home, PATH: '/bin:/usr/bin', NO_COLOR: '1', ...more }
  const result = await runOnScreen(launcher, ['init'], { rows: 60, columns: 80, cwd: home, env, type })
  const read = (path: string) =>
    existsSync(join(home, path)) ? readFileSync(join(home, path), 'utf8') : undefined
  return {
    ...result,
    screen: result.lines.map((line) => line.replaceAll(/(?<=0\.1:)\d+/g, '12345').trimEnd()).join('\n'),
    home,
    config: read('.config/modelgate/config.yaml'),
    credentials: read('.config/modelgate/credentials.json'),
  }
}

test('the whole way, on the screen: a refused key first, then a good one, then each default', async () => {
  const { url } = await runningSandbox()
  const key = canaryKey()
  const result = await wizard([
    { when: 'Address of your gateway', keys: `${url}/v1\r` },
    { when: 'Paste it now', keys: '\r' },
    { when: 'not shown', keys: 'invalid\r' },
    { when: 'Give another key', keys: '\r' },
    { when: /another key[^]*another key[^]*Paste it now/, keys: '\r' },
    { when: /another key[^]*another key[^]*not shown/, keys: `  ${key}\r` },
    { when: 'Model for text', keys: '\r' },
    { when: 'Model for images', keys: 'gpt-image-1-m' },
    { when: '(as typed)', keys: '\r' },
    { when: 'Model for videos', keys: '\r' },
  ])
  expectNoKey('the screen', result.bytes, key)
  expect(result.exitCode).toBe(0)
  expect(result.screen).toMatchSnapshot()
  expect(result.config).toBe(`# Settings of modelgate. All there are: modelgate config list --all

base_url: ${url}
text_model: sandbox-text
image_model: gpt-image-1-mini
video_model: sandbox-video
`)
  expect(JSON.parse(result.credentials!)).toEqual({ profiles: { default: { api_key: key } } })
  // oxlint-disable-next-line no-control-regex
  expect(result.bytes).not.toMatch(/\u001b\[[\d;]*m/)
})

test('running it again shows what is set, and Enter all the way changes nothing', async () => {
  const sandbox = await runningSandbox()
  const home = temporaryFolder()
  const config = `# mine
base_url: ${sandbox.url}
text_model: my-own-模型 # by hand
profiles:
  work: { base_url: https://work.example }
`
  writeFiles(home, { '.config/modelgate/config.yaml': config })
  const again = [
    { when: `(${sandbox.url})`, keys: '\r' },
    { when: 'As it is', keys: '\r' },
    { when: 'Model for text', keys: '\r' },
    { when: 'Model for images', keys: '-' },
    { when: /for images[^]*for images[^]*\(none\)/, keys: '\r' },
    { when: 'Model for videos', keys: '-' },
    { when: /for videos[^]*for videos[^]*\(none\)/, keys: '\r' },
  ]
  const result = await wizard(again, home, { MODELGATE_API_KEY: 'some-key' })
  expect([result.exitCode, result.config, result.credentials]).toEqual([0, config, undefined])
  expect(result.screen).toContain('Nothing to write')
  expect(result.screen).toContain('Model for text: my-own-模型')
})

test('Ctrl-C at the last question leaves nothing behind', async () => {
  const sandbox = await runningSandbox()
  const typed = [
    { when: 'Address', keys: `${sandbox.url}\r` },
    { when: 'Paste it now', keys: '\r' },
    { when: 'not shown', keys: 'some-key\r' },
    { when: 'Model for text', keys: '\r' },
    { when: 'Model for images', keys: '\r' },
    { when: 'Model for videos', keys: '\u0003' },
  ]
  const result = await wizard(typed)
  // The shell of the test tells a death by SIGINT as 130.
  expect(result.exitCode).toBe(130)
  expect(result.screen).toMatch(/\nmodelgate: Stopped\. Nothing was written\.$/)
  expect(readdirSync(result.home).filter((name) => name !== '.cache')).toEqual([])
})
