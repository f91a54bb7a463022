import { beforeEach, describe, expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { imageCall, imageRefusal } from '../../support/image-call.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
})

const call = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['create', '-m', 'gpt-image-2', ...argv, 'A Red Kite'], { cwd, ...more })).request

const refusal = (argv: readonly string[], more: TestOverrides = {}) =>
  imageRefusal(['create', '-m', 'gpt-image-2', ...argv, 'A Red Kite'], { cwd, ...more })

/** The paths of the images that a call would make. */
async function paths(argv: readonly string[], more: TestOverrides = {}): Promise<readonly string[]> {
  const { outputs, wanted } = await call(argv, more)
  return wanted.map((index) => outputs.pathFor({ index, extension: 'webp', id: 'id-1' }))
}

test('output_dir of the configuration is for files that -o does not name', async () => {
  writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'output_dir: art\n', 'art/.keep': '' })
  expect((await paths([]))[0]).toMatch(/art\/a-red-kite-[0-9a-f]{8}\.webp$/)
  expect(await paths(['-o', 'a.png'])).toEqual(['a.png'])
})

test.each<[readonly string[], number, string]>([
  [['-o', 'taken.png'], 10, '"taken.png" already exists.'],
  [['-o', 't.png', '-n', '2'], 10, '"t-2.png" already exists.'],
  [['-o', 'new.png', '--sidecar'], 10, '"new.png.json" already exists.'],
  [['-o', '{slug}.png', '-n', '2'], 2, '-o "{slug}.png" gives all 2 images the same name.'],
])('%j is refused before anything is sent', async (argv, exit, line) => {
  writeFiles(cwd, { 'taken.png': 'x', 't-2.png': 'x', 'new.png.json': 'x' })
  expect(await refusal(argv)).toMatchObject({ exit, lines: [line] })
  if (exit === 10) await expect(call([...argv, '--force'])).resolves.toBeDefined()
})

test.each<[readonly string[], string]>([
  [['-o', '-', '--json'], '-o - and --json would both write to standard output.'],
  [['-o', '-', '--jsonl'], '-o - and --jsonl would both write to standard output.'],
  [['-o', '-', '--raw'], '-o - and --raw would both write to standard output.'],
  [['-o', '-', '--sidecar'], '-o - makes no file, so --sidecar does not apply.'],
  [['-o', '-', '--save-partials'], '-o - makes no file, so --save-partials does not apply.'],
  [['-o', '-', '--skip-existing'], '-o - makes no file, so --skip-existing does not apply.'],
  [['--no-download', '-o', 'a.png'], '--no-download saves nothing, so -o does not apply.'],
  [['--no-download', '--sidecar'], '--no-download saves nothing, so --sidecar does not apply.'],
  [['--no-download', '--skip-existing'], '--no-download saves nothing, so --skip-existing does not apply.'],
  [['--raw', '-o', 'a.png'], '--raw saves nothing, so -o does not apply.'],
  [['--raw', '--sidecar'], '--raw saves nothing, so --sidecar does not apply.'],
  [['--raw', '--skip-existing'], '--raw saves nothing, so --skip-existing does not apply.'],
  [['--raw', '--save-partials'], '--raw saves nothing, so --save-partials does not apply.'],
  [['-o', '{id}.png', '--skip-existing'], expect.stringContaining('{id}') as string],
  [['--preview', 'ascii'], '--preview must be one of auto, kitty, iterm, blocks, off, not "ascii".'],
  [['--force', '--skip-existing'], '--force and --skip-existing cannot be used together.'],
])('what excludes each other is refused, both flags named: %j', async (argv, line) => {
  expect(await refusal(argv)).toMatchObject({ exit: 2, lines: [line] })
})

test('-o - is not for a terminal', async () => {
  const line = '-o - would write the bytes of an image to the terminal.'
  expect(await refusal(['-o', '-'], { terminal: true })).toMatchObject({ exit: 2, lines: [line] })
  expect((await call(['-o', '-'])).outputs.toStandardOutput).toBe(true)
})

test('--skip-existing knows the name that the format gives', async () => {
  writeFiles(cwd, { 'a.jpg': pngBytes(), 'a.webp': pngBytes() })
  const of = async (format: string) =>
    (await call(['-o', 'a.{ext}', '--output-format', format, '--skip-existing'])).existing
  expect(await of('jpeg')).toMatchObject([{ file: { path: 'a.jpg' } }])
  expect(await of('webp')).toMatchObject([{ file: { path: 'a.webp' } }])
  expect(await of('png')).toEqual([])
})

test('a number of images that --no-validate lets through is sent as it is', async () => {
  for (const n of ['0', '-1', '11', '1000000000']) {
    const { body, wanted } = await call(['-n', n, '--no-validate'])
    expect(body['n']).toBe(Number(n))
    expect(wanted.length).toBeGreaterThan(0)
  }
})

describe('the extension of -o', () => {
  const format = async (...argv: string[]) => {
    const { request } = await imageCall(['create', ...argv, 'A Red Kite'], { cwd })
    return request.body['output_format']
  }

  test.each([
    ['a.webp', 'webp'],
    ['a.jpg', 'jpeg'],
    ['a.JPEG', 'jpeg'],
    ['a-{index}.png', 'png'],
    ['a.{ext}', undefined],
    ['a', undefined],
    ['a.v2', undefined],
    ['-', undefined],
    ['shots.webp/', undefined],
    ['folder.png', undefined],
  ])('of %s asks for %s', async (name, expected) => {
    writeFiles(cwd, { 'shots.webp/.keep': '', 'folder.png/.keep': '' })
    for (const model of ['gpt-image-1', 'image-model-a-mini']) {
      expect(await format('-m', model, '-o', name)).toBe(expected)
    }
    expect(await format('-m', 'my-own', '-o', name)).toBe(undefined)
    // PNG is the default of the field: it need not decide which model is chosen.
    expect(await format('-o', name)).toBe(expected === 'png' ? undefined : expected)
  })

  test.each([
    ['-m dall-e-2 -o a.webp', /^-o "a\.webp" names image\/webp; dall-e-2.* delivers only image\/png\.$/],
    ['-m dall-e-3 -o a-{index}.jpg', /names image\/jpeg; dall-e-3.* delivers only image\/png\.$/],
    ['-m gpt-image-1 -o a.gif', / delivers only image\/png, image\/jpeg, image\/webp\.$/],
    [
      '-m gpt-image-1 -o a.webp --output-format png',
      /names image\/webp, but --output-format asks for png\.$/,
    ],
    ['-m my-own -o a.webp --output-format png', /but --output-format asks for png\.$/],
    ['-m gpt-image-2 -o a.mp4', /^-o "a\.mp4" names video\/mp4; gpt-image-2 delivers only /],
    ['-o a.png --body {"output_format":"webp"}', /but --output-format asks for webp\.$/],
  ])('is refused where it cannot be: %s', async (words, message) => {
    const argv = ['create', ...words.split(' '), 'kite']
    expect(await imageRefusal(argv, { cwd })).toMatchObject({
      exit: 2,
      lines: [expect.stringMatching(message)],
      hint: 'Change the extension; with {ext} in its place the name gets that of the image.',
    })
    await expect(imageCall([...argv, '--no-validate'], { cwd })).resolves.toBeDefined()
  })
})
