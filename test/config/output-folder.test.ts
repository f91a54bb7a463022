import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf, type ConfigPlaceContent } from '../support/config-place.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A repository with its settings in `app/`, and links that lead out of it. */
function repository(project: string, more: ConfigPlaceContent = {}) {
  const place = configPlace({
    ...more,
    files: { 'project/.git/HEAD': '', 'project/app/.modelgaterc': project, 'project/inside/x': '' },
  })
  const elsewhere = temporaryFolder()
  symlinkSync(elsewhere, join(place.project, 'out'))
  symlinkSync(join(elsewhere, 'not-yet'), join(place.project, 'dangling'))
  symlinkSync('inside', join(place.project, 'within'))
  symlinkSync('circle', join(place.project, 'circle'))
  return { ...place, context: { ...place.context, cwd: join(place.project, 'app') } }
}

test.each([
  ['art', 'app/art'],
  ['.', 'app'],
  ['../art/new', 'art/new'],
  ['..', ''],
  ['..art', 'app/..art'],
  ['../within/new', 'within/new'],
])('a project may have its results in %s', async (folder, below) => {
  const { context, project } = repository(`output_dir: ${folder}`)
  expect((await resolveSettings(context)).outputDir.value).toBe(join(project, below))
})

test.each([
  '../..',
  '../../other',
  '../out',
  '../out/deeper/down',
  '../dangling',
  '../dangling/x',
  '../../project-2',
  '/tmp',
  '~/',
  '~/.ssh',
])('a project may not have its results in %s, which is outside', async (folder) => {
  const { context } = repository(`output_dir: ${folder}`)
  const failure = await failureOf(() => resolveSettings(context))
  expect(failure).toMatch(/^2 config_invalid \(config\)\noutput_dir: .* is outside the project, /)
  expect(failure).toMatch(/hint: .* set it in .*config\.yaml, or as MODELGATE_OUTPUT_DIR\.$/)
})

test('a circle of links leads nowhere, and is refused by whoever writes there', async () => {
  const { context, project } = repository('output_dir: ../circle/x')
  expect((await resolveSettings(context)).outputDir.value).toBe(join(project, 'circle/x'))
})

test('without a repository, the project is the folder of its file', async () => {
  for (const [project, isRefused] of [
    ['output_dir: art', false],
    ['output_dir: ../art', true],
  ] as const) {
    // That the home directory is a repository makes all of it no project.
    const { context } = configPlace({ project, files: { '.git/HEAD': '' } })
    const failure = await failureOf(() => resolveSettings(context)).catch(() => undefined)
    expect([project, failure !== undefined]).toEqual([project, isRefused])
  }
})

test('a project may be outside the home directory, and in no repository', async () => {
  const { context, project } = configPlace({ project: 'output_dir: art' })
  const home = temporaryFolder()
  const elsewhere = { ...context, home, env: { ...context.env, HOME: home } }
  expect((await resolveSettings(elsewhere)).outputDir.value).toBe(join(project, 'art'))
})

test('the user may choose any folder, and that wins over the project', async () => {
  const elsewhere = temporaryFolder()
  mkdirSync(join(elsewhere, 'a'))
  const own = repository('', { user: `output_dir: ${elsewhere}/a` })
  expect((await resolveSettings(own.context)).outputDir.value).toBe(`${elsewhere}/a`)
  const named = repository('output_dir: ../..', { env: { MODELGATE_OUTPUT_DIR: elsewhere } })
  expect((await resolveSettings(named.context)).outputDir.value).toBe(elsewhere)
})
