import { cpSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeBlocks, projectRoot, readPage } from '../support/pages.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { endOf } from './spawn-program.ts'

const readme = readPage('README.md')

/** The blocks of a section. */
function blocksOf(heading: string) {
  const start = readme.indexOf(`\n## ${heading}\n`)
  expect(start).toBeGreaterThan(0)
  const end = readme.indexOf('\n## ', start + 4)
  return codeBlocks(readme.slice(start, end)).map(({ text }) => text)
}

/** Errors and warnings; that text was joined to a prompt, or a conversation goes on, is neither. */
const complaintsIn = (stderr: string) =>
  (stderr.match(/^(?:modelgate|warning): .*/gm) ?? []).filter(
    (line) => !/: (?:Joined|continuing) /.test(line),
  )

/** As in a clone: its examples, and a history. */
const inClone = 'git init -q . && git -c user.name=a -c user.email=a commit -q --allow-empty -m "Begin"\n'

const env = {
  MODELGATE_TEXT_MODEL: 'text',
  MODELGATE_IMAGE_MODEL: 'gpt-image-2',
  MODELGATE_VIDEO_MODEL: 'veo',
}

async function run(script: string) {
  const { url } = await runningSandbox()
  const cwd = temporaryFolder()
  cpSync(fileURLToPath(new URL('examples', projectRoot)), join(cwd, 'examples'), { recursive: true })
  const shell = `set -euo pipefail\n${inClone}${script}`
  const { exit, stdout, stderr } = await endOf([], { shell, cwd, env: { ...env, MODELGATE_BASE_URL: url } })
  expect([exit, complaintsIn(stderr)]).toEqual([0, []])
  const files = readdirSync(cwd).filter((name) => !name.startsWith('.') && name !== 'examples')
  return { out: stdout, files: files.toSorted() }
}

describe.skipIf(!isInstalled('bash') || !isInstalled('git') || !isInstalled('jq'))(
  'the README can be pasted as it stands (needs bash, git, jq)',
  () => {
    test('in a terminal', async () => {
      const { out, files } = await run(blocksOf('In a terminal').join('\n'))
      const made = ['blue.png', 'boat.mp4', 'boat.png', 'rain.mp4']
      expect(files).toEqual(made)
      for (const name of made) expect(out.split('\n')).toContain(name)
    })

    test('in a script', async () => {
      const { out, files } = await run(blocksOf('In a script').join('\n'))
      expect(files).toEqual(['boat.png', 'sky.png'])
      expect(out).toMatch(/"total_tokens": \d+/)
      expect(out).toMatch(/^curl /m)
    })

    test('all assets from one file', async () => {
      const [, script = ''] = blocksOf('All assets from one file')
      const { out } = await run(script)
      const outputs = out.split('\n').filter((line) => line.endsWith('.webp'))
      expect(outputs.length).toBe(8)
      expect(out).toMatch(/^\.modelgate\/sandbox\/report\.html\n$/m)
    })

    test('the recipes for tools of docs/text.md', async () => {
      const recipes = codeBlocks(readPage('docs/text.md')).filter(({ text }) =>
        text.includes('--tool-output'),
      )
      expect(recipes.length).toBe(2)
      const { out } = await run(recipes.map(({ text }) => text).join(''))
      // The sandbox quotes what a tool returned.
      expect(out).toMatch(
        /^.*The tool answered: 21 degrees in \S+.*\n.*The tool answered: \{"celsius":21\}.*\n$/,
      )
    })

    test('the address, the key and the models of the first minute', async () => {
      const [, sandbox = ''] = blocksOf('The first minute')
      const [start, ...exports] = sandbox.trimEnd().split('\n')
      expect(start).toBe('modelgate sandbox --port 8080 --quiet &')
      const names = 'BASE_URL API_KEY TEXT_MODEL IMAGE_MODEL VIDEO_MODEL'.split(' ')
      const { out } = await run(`${exports.join('\n')}\nenv | grep ^MODELGATE_`)
      expect(names.filter((name) => !out.includes(`MODELGATE_${name}=`))).toEqual([])
    })
  },
)

test('the two commands of a fresh clone stand by themselves', () => {
  const [first = ''] = blocksOf('Start')
  const lines = first.split('\n').map((line) => line.replace(/ +#.*/, ''))
  expect(lines).toEqual(['npm ci && npm start', 'npm cit', ''])
})
