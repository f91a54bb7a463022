import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { endOf, launcher } from './spawn-program.ts'

/** The machine's own Node, which the one pinned by the project hides, if it is too old for the program. */
const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .filter(existsSync)
  .map((file) => ({ file, version: execFileSync(file, ['-p', 'process.versions.node']).toString().trim() }))
  .find(({ version }) => Number(version.split('.', 1)[0]) < 22)

test.skipIf(oldNode === undefined)('an older Node gets one clear sentence', async () => {
  const { file, version } = oldNode!
  expect(await endOf([launcher, '--version'], { shell: `"${file}" "$@"` })).toEqual({
    exit: 2,
    stdout: '',
    stderr: `modelgate needs Node 22.22.2, 24.15.0 or 26 and newer; this is Node ${version}. In a clone, npm scripts and npx use the right one.\n`,
  })
})
