import process from 'node:process'
import * as fc from 'fast-check'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Context } from '../../src/context.ts'
import { planOutputs, type OutputPlan, type OutputRequest } from '../../src/files/output-plan.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

function plan(request: Partial<OutputRequest> = {}, context: Context = testContext()): OutputPlan {
  return planOutputs(context, {
    count: 1,
    force: false,
    model: 'image-model-a',
    prompt: 'A red fox',
    now: context.clock.now(),
    ...request,
  })
}

const first = { index: 1, extension: 'png' }
const second = { index: 2, extension: 'webp' }

async function problems(folder: string, request: Partial<OutputRequest>, expected = {}) {
  const before = readdirSync(folder, { recursive: true })
  const found = await plan(request, testContext({ cwd: folder })).check(expected)
  expect(readdirSync(folder, { recursive: true })).toEqual(before)
  return found.map(({ code, exitCode, message }) => `${exitCode} ${code} ${message}`)
}

test('videos have words and a name of their own', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'clip.mp4': 'mine' })
  const video = { kind: 'video', prompt: '…' } as const
  const film = { index: 1, extension: 'mp4' }
  expect(plan(video).pathFor(film)).toMatch(/^video-[0-9a-f]{8}\.mp4$/)
  expect(plan({ ...video, output: '{slug}.{ext}' }).pathFor(film)).toBe('video.mp4')
  expect(await problems(cwd, { ...video, output: 'clip.{ext}' })).toEqual([
    '10 file_exists "clip.mp4" already exists.',
  ])
  expect(await problems(cwd, { ...video, output: '-', count: 2 })).toEqual([
    '2 usage -o - takes one video, but 2 were requested.',
  ])
  expect(await problems(cwd, { ...video, output: '{slug}.{ext}', count: 2 })).toEqual([
    '2 usage -o "{slug}.{ext}" gives all 2 videos the same name.',
  ])
})

test.each<[string, number, string, string]>([
  ['hero.png', 1, 'hero.png', 'hero-2.png'],
  ['hero.png', 2, 'hero-1.png', 'hero-2.png'],
  ['out/hero.tar.gz', 2, 'out/hero.tar-1.gz', 'out/hero.tar-2.gz'],
  ['./out.d/hero', 2, './out.d/hero-1', './out.d/hero-2'],
  ['.hidden', 2, '.hidden-1', '.hidden-2'],
  ['/abs/hero.png', 1, '/abs/hero.png', '/abs/hero-2.png'],
  ['../hero.png', 1, '../hero.png', '../hero-2.png'],
  ['hero-{index}.{ext}', 1, 'hero-1.png', 'hero-2.webp'],
  ['hero-{index}.{ext}', 2, 'hero-1.png', 'hero-2.webp'],
  ['{slug}.{ext}', 1, 'a-red-fox.png', 'a-red-fox-2.webp'],
  ['{date}/{model}-{index}', 2, '2026-01-01/image-model-a-1', '2026-01-01/image-model-a-2'],
])('-o %s for %i', (output, count, one, two) => {
  const { pathFor, isAutomatic } = plan({ output, count })
  expect([pathFor(first), pathFor(second)]).toEqual([one, two])
  expect(isAutomatic).toBe(false)
})

test('without -o, in a folder of the configuration or the one given, the prompt gives the name', () => {
  const name = 'a-red-fox-3f5df6b4'
  const folder = temporaryFolder()
  mkdirSync(`${folder}/there{index}`)
  const context = testContext({ cwd: folder })
  expect(plan().pathFor(first)).toMatch(/^a-red-fox-[0-9a-f]{8}\.png$/)
  const stem = plan().pathFor(first).slice(0, name.length)
  expect(plan({ count: 2 }).pathFor(second)).toBe(`${stem}-2.webp`)
  expect(plan({ folder: 'assets{slug}' }).pathFor(first)).toBe(`assets{slug}/${stem}.png`)
  expect(plan({ folder: 'assets', output: 'x.png' }).pathFor(first)).toBe('x.png')
  expect(plan({ output: 'new/' }).pathFor(first)).toBe(`new/${stem}.png`)
  expect(plan({ output: '{model}/' }).pathFor(first)).toBe(`image-model-a/${stem}.png`)
  expect(plan({ output: 'there{index}' }, context).pathFor(first)).toBe(`there{index}/${stem}.png`)
  expect(plan().isAutomatic && plan({ output: 'new/' }).isAutomatic).toBe(true)
})

test('an automatic name is the same in every run, and another for another prompt or model', () => {
  const long = 'the same words at the beginning of two long prompts, and then '
  const names = [
    plan({ prompt: `${long} a cat` }),
    plan({ prompt: `${long} a dog` }),
    plan({ prompt: `${long} a dog`, model: 'image-model-b' }),
  ].map(({ pathFor }) => pathFor(first))
  expect(new Set(names).size).toBe(3)
  expect(plan({ prompt: `${long} a cat`, now: 1e12 }).pathFor(first)).toBe(names[0])
})

test('partial images are named after their image', () => {
  const partial = { ...second, partial: 0 }
  expect(plan({ output: 'hero.png' }).pathFor({ ...first, partial: 2 })).toBe('hero-partial-3.png')
  expect(plan({ output: 'hero-{index}.{ext}' }).pathFor(partial)).toBe('hero-2-partial-1.webp')
})

test('the id of the reply is part of the name', () => {
  const { pathFor } = plan({ output: '{id}-{index}.{ext}' })
  expect([pathFor({ ...first, id: '../etc' }), pathFor(first)]).toEqual(['etc-1.png', 'no-id-1.png'])
})

test('- is standard output', () => {
  const { toStandardOutput, pathFor } = plan({ output: '-' })
  expect([toStandardOutput, pathFor(first)]).toEqual([true, '-'])
  expect(plan({ output: './-' }).toStandardOutput).toBe(false)
})

test('no two images and partial images share a name, whatever the template', () => {
  const pieces = ['{index}', '{ext}', '{slug}', '{id}', 'hero', '-1', '-2', '.', '/', 'x'.repeat(250)]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 10 }),
      (parts, count) => {
        const { pathFor } = plan({ output: `a${parts.join('')}z`, count })
        const paths = Array.from({ length: 12 }, (_, at) => ({ ...first, index: at + 1 })).flatMap(
          (image) => [pathFor(image), pathFor({ ...image, partial: 0 })],
        )
        expect(new Set(paths.map((path) => path.normalize('NFC').toLowerCase())).size).toBe(24)
      },
    ),
  )
})

test.each<Partial<OutputRequest>>([
  {},
  { output: 'hero.png' },
  { output: 'hero-{index}.{ext}', count: 10 },
  { output: 'hero.png', count: 10 },
  { output: '{slug}.{ext}' },
  { output: '{id}-{index}.png', count: 2 },
  { output: '-' },
  { output: '/dev/null' },
  { output: 'strange: a|b?.png' },
  { output: 'a b/c/', count: 4 },
])('before anything is sent nothing is wrong with %j', async (request) => {
  expect(await problems(temporaryFolder(), request)).toEqual([])
})

test.each<[Partial<OutputRequest>, string]>([
  [{ output: '-', count: 2 }, '2 usage -o - takes one image, but 2 were requested.'],
  [{ output: '' }, '2 bad_file_name -o "" is not a file name.'],
  [{ output: 'a\0b' }, String.raw`2 bad_file_name -o "a\u0000b" is not a file name.`],
  [{ output: 'a\nb' }, String.raw`2 bad_file_name -o "a\nb" is not a file name.`],
  [{ output: '{n}{Ext}' }, '2 usage -o "{n}{Ext}" has an unknown placeholder: {n}, {Ext}.'],
  [{ output: '{slug}.{ext}', count: 2 }, '2 usage -o "{slug}.{ext}" gives all 2 images the same name.'],
  [
    { output: '{id}/{index}.png' },
    '2 usage -o "{id}/{index}.png": {id} is known only after the images are made, so it cannot be part of a folder name.',
  ],
  [
    { output: 'x'.repeat(256) },
    `10 bad_file_name "${'x'.repeat(256)}" cannot be written: its name is too long.`,
  ],
])('before anything is sent %j is told', async (request, problem) => {
  expect(await problems(temporaryFolder(), request)).toEqual([problem])
})

test('a later file of a folder may be the one that cannot be written', async () => {
  const folder = temporaryFolder()
  mkdirSync(`${folder}/hero-2.png`)
  const isFolder = '10 not_a_file "hero-2.png" cannot be written: it is a folder.'
  expect(await problems(folder, { output: 'hero-{index}.png', count: 3 })).toEqual([isFolder])
  const long = 'x'.repeat(250)
  const found = [
    await problems(folder, { output: `${long}{index}.png`, count: 11 }),
    await problems(folder, { output: `${long}.png` }, { sidecar: true }),
    await problems(folder, { output: `${long}.png` }, { partials: true }),
  ]
  expect(found).toEqual(
    ['10.png', '.png.json', '-partial-1.png'].map((end) => [
      `10 bad_file_name "${long}${end}" cannot be written: its name is too long.`,
    ]),
  )
})

test('every existing file is reported, unless it may be replaced', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'hero-1.png': '', 'hero-3.png': '', 'hero-2.webp': '', 'hero-4.png.json': '' })
  symlinkSync('nowhere', `${folder}/hero-5.png`)
  const request = { output: 'hero-{index}.{ext}', count: 5 }
  const exist = (...names: readonly string[]) =>
    names.map((name) => `10 file_exists "${name}" already exists.`)
  const pngs = exist('hero-1.png', 'hero-3.png', 'hero-5.png')
  expect(await problems(folder, request)).toEqual(pngs)
  expect(await problems(folder, request, { extension: 'webp' })).toEqual(exist('hero-2.webp'))
  expect(await problems(folder, request, { sidecar: true })).toContainEqual(exist('hero-4.png.json')[0])
  expect(await problems(folder, { ...request, force: true })).toEqual([])
})

test('an automatic name that is taken is not a problem', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { [plan().pathFor(first)]: '' })
  expect(await problems(folder, {})).toEqual([])
})

test.each<[Partial<OutputRequest>, string]>([
  [{ output: 'file/c/', count: 4 }, 'not_found'],
  [{ output: 'file/x.png' }, 'not_found'],
  [{ output: 'dir', count: 2 }, 'not_a_file'],
  [{ output: 'pipe' }, 'not_a_file'],
])('where something else is, %j is refused', async (request, code) => {
  const folder = temporaryFolder()
  writeFiles(folder, { file: '', 'dir-1/x': '' })
  execFileSync('mkfifo', [`${folder}/pipe`])
  expect(await problems(folder, request)).toEqual([expect.stringContaining(`10 ${code} `)])
})

test.skipIf(process.getuid?.() === 0)('a folder without permission (not as root)', async () => {
  const folder = temporaryFolder()
  mkdirSync(`${folder}/locked`)
  chmodSync(`${folder}/locked`, 0o500)
  const refused = [expect.stringContaining('10 permission_denied ')]
  expect(await problems(folder, { output: 'locked/' })).toEqual(refused)
})

test.each([
  ['con.png', '"con.png"'],
  ['out\\aux', '"aux"'],
  ['C:\\a:b.png', '"a:b.png"'],
  ['a?.png', '"a?.png"'],
  ['dot.\\x', '"dot."'],
])('on Windows %s is refused', async (output, part) => {
  const found = await plan({ output }, testContext({ platform: 'win32' })).check()
  const message = `-o ${JSON.stringify(output)}: Windows has no files named ${part}.`
  expect(found).toMatchObject([{ message }])
})
