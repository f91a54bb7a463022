import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/pages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { endOf } from './spawn-program.ts'

const examples = fileURLToPath(new URL('examples/pipelines/', projectRoot))

/** What a call in a copy of an example prints, and how it ends. */
async function call(cwd: string, ...words: readonly string[]) {
  const { exit, stdout, stderr } = await endOf(['run', '--sandbox', ...words], { cwd })
  return { exit, stderr, lines: stdout.split('\n').filter(Boolean).toSorted() }
}

test.each([
  ['shop', 8, 'assets/mug-blue.webp'],
  ['game', 8, 'sprites/items/potion.png'],
  ['docs-site', 12, 'static/diagrams/requests.webp'],
  ['trailer', 5, 'trailer/synopsis.md'],
  ['storyboard', 7, 'board/scenes.json'],
])('the pipeline of the %s runs on the sandbox as it stands, and once', async (name, count, output) => {
  const cwd = temporaryFolder()
  cpSync(join(examples, name), cwd, { recursive: true })
  const before = readdirSync(cwd)
  const first = await call(cwd)
  expect([first.exit, first.lines.length]).toEqual([0, count])
  expect(first.lines.at(-1)).toBe(`.modelgate/sandbox/${output}`)
  expect(first.stderr).toContain(`${count} instances: ${count} fresh`)
  expect(await call(cwd, '--check')).toMatchObject({ exit: 0, lines: [] })
  expect(await call(cwd)).toMatchObject({ exit: 0, lines: [] })
  expect(readdirSync(cwd).toSorted()).toEqual(['.modelgate', ...before].toSorted())
})
