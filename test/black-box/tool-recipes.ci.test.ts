import { expect, test } from 'vitest'
import { codeBlocks, readPage } from '../support/pages.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { isInstalled } from '../support/shell-session.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'
import { canaryKey } from '../support/canary-key.ts'

/** The scripts of the page that answer the call of a tool. */
const recipes = codeBlocks(readPage('docs/text.md'))
  .map(({ text }) => text)
  .filter((script) => script.includes('--tool-output'))

test.skipIf(!isInstalled('jq') || !isInstalled('bash'))(
  'the recipes for tools run as they stand',
  async () => {
    expect(recipes.length).toBe(2)
    const sandbox = await runningSandbox()
    const { exit, stdout, stderr } = await spawnProgram([], {
      shell: `set -euo pipefail\n${recipes.join('')}`,
      cwd: temporaryFolder(),
      env: {
        MODELGATE_BASE_URL: sandbox.url,
        MODELGATE_API_KEY: canaryKey(),
        MODELGATE_TEXT_MODEL: 'sandbox-text',
      },
    }).ended
    expect([exit, String(stderr)]).toEqual([0, ''])
    const [respond = '', generate = '', ...rest] = String(stdout).trimEnd().split('\n')
    // The sandbox quotes what a tool returned.
    expect(respond).toMatch(/The tool answered: 21 degrees in \S+/)
    expect(generate).toContain('The tool answered: {"celsius":21}')
    expect(rest).toEqual([])
  },
)
