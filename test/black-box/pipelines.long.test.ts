import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/pages.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

const examples = fileURLToPath(new URL('examples/pipelines/', projectRoot))

/** What a call in a copy of an example prints, and how it ends. */
async function call(cwd: string, ...words: readonly string[]) {
  const { exit, stdout, stderr } = await spawnProgram(['run', '--sandbox', ...words], { cwd }).ended
  return { exit, stderr: String(stderr), lines: String(stdout).split('\n').filter(Boolean).toSorted() }
}

test.each([
  [
    'shop',
    8,
    ['bag-tote', 'bowl-ash', 'lamp-arc', 'mug-blue'].flatMap((id) => [
      `assets/${id}-scene.webp`,
      `assets/${id}.webp`,
    ]),
  ],
  [
    'game',
    8,
    [
      'sprites/hero-diver.png',
      'sprites/hero-festival.png',
      'sprites/hero-winter.png',
      'sprites/hero.png',
      'sprites/items/key.png',
      'sprites/items/lantern.png',
      'sprites/items/map.png',
      'sprites/items/potion.png',
    ],
  ],
  [
    'docs-site',
    12,
    [
      ...['install', 'limits', 'requests'].flatMap((page) =>
        ['de', 'en', 'ja'].map((language) => `content/${page}.${language}.json`),
      ),
      ...['install', 'limits', 'requests'].map((page) => `static/diagrams/${page}.webp`),
    ],
  ],
  [
    'trailer',
    5,
    ['finale.mp4', 'hero.png', 'night.png', 'opening.mp4', 'synopsis.md'].map((name) => `trailer/${name}`),
  ],
  [
    'storyboard',
    7,
    [
      // What the sandbox makes of the schema.
      ...['ozlk', 'tjgr', 'wezo'].flatMap((id) => [`board/${id}.mp4`, `board/${id}.png`]),
      'board/scenes.json',
    ],
  ],
])('the pipeline of the %s runs on the sandbox as it stands, and once', async (name, count, outputs) => {
  const cwd = temporaryFolder()
  cpSync(join(examples, name), cwd, { recursive: true })
  const before = readdirSync(cwd)
  const first = await call(cwd)
  expect([first.exit, first.lines]).toEqual([0, outputs.map((path) => `.modelgate/sandbox/${path}`)])
  expect(first.stderr).toContain(`${count} instances: ${count} fresh`)
  expect(await call(cwd, '--check')).toMatchObject({ exit: 0, lines: [] })
  expect(await call(cwd)).toMatchObject({ exit: 0, lines: [] })
  expect(readdirSync(cwd).toSorted()).toEqual(['.modelgate', ...before].toSorted())
})
