import { beforeEach, describe, expect, test } from 'vitest'
import { previewModes } from '../../../src/commands/image.ts'
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

describe('-o', () => {
  test('output_dir of the configuration is for files that -o does not name', async () => {
    writeFiles(cwd, { '.git/HEAD': '', '.modelgaterc.yaml': 'output_dir: art\n', 'art/.keep': '' })
    expect((await paths([]))[0]).toMatch(/art\/a-red-kite-[0-9a-f]{8}\.webp$/)
    expect(await paths(['-o', 'a.png'])).toEqual(['a.png'])
  })

  test.each<[string, readonly string[], number, RegExp]>([
    ['a file that exists', ['-o', 'taken.png'], 10, /taken\.png.*exists/],
    ['one of several that exists', ['-o', 't.png', '-n', '2'], 10, /t-2\.png.*exists/],
    ['a record that exists', ['-o', 'new.png', '--sidecar'], 10, /new\.png\.json.*exists/],
    ['names that collide', ['-o', '{slug}.png', '-n', '2'], 2, /gives all 2 images the same name/],
    ['an unknown token', ['-o', '{idx}.png'], 2, /unknown placeholder: \{idx\}/],
    ['an empty name', ['-o', ''], 2, /"" is not a file name/],
    ['standard output for two', ['-o', '-', '-n', '2'], 2, /-o - takes one image, but 2 were requested/],
    ['a file in place of a folder', ['-o', 'taken.png/a.png'], 10, /taken\.png/],
  ])('%s is refused before anything is sent', async (_, argv, exit, message) => {
    writeFiles(cwd, { 'taken.png': 'x', 't-2.png': 'x', 'new.png.json': 'x' })
    const found = await refusal(argv)
    expect(found.lines.join('\n')).toMatch(message)
    expect(found.exit).toBe(exit)
  })

  test('--force takes names that are taken', async () => {
    writeFiles(cwd, { 'taken.png': 'x' })
    expect(await paths(['-o', 'taken.png', '--force'])).toEqual(['taken.png'])
  })
})

describe('what excludes each other is refused, both flags named', () => {
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
    [['--force', '--skip-existing'], '--force and --skip-existing cannot be used together.'],
  ])('%j', async (argv, line) => {
    expect(await refusal(argv)).toMatchObject({ exit: 2, lines: [line] })
  })

  test('an image and a terminal', async () => {
    expect(await refusal(['-o', '-'], { terminal: true })).toMatchObject({
      exit: 2,
      lines: ['-o - would write the bytes of an image to the terminal.'],
    })
    expect((await call(['-o', '-'])).outputs.toStandardOutput).toBe(true)
  })
})

test('--preview takes no other word', async () => {
  expect((await refusal(['--preview', 'ascii'])).lines).toEqual([
    `--preview must be one of ${previewModes.join(', ')}, not "ascii".`,
  ])
})

describe('--skip-existing', () => {
  test('knows the name that the format gives', async () => {
    writeFiles(cwd, { 'a.jpg': pngBytes(), 'a.webp': pngBytes() })
    const of = async (format: string) =>
      (await call(['-o', 'a.{ext}', '--output-format', format, '--skip-existing'])).existing.map(
        ({ file }) => file.path,
      )
    expect([await of('jpeg'), await of('webp'), await of('png')]).toEqual([['a.jpg'], ['a.webp'], []])
  })

  test('refuses names that the gateway will make', async () => {
    expect(await refusal(['-o', '{id}.png', '--skip-existing'])).toMatchObject({
      exit: 2,
      lines: [expect.stringContaining('{id}')],
    })
  })
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
    [
      ['-m', 'dall-e-2', '-o', 'a.webp'],
      /^-o "a\.webp" names image\/webp; dall-e-2.* delivers only image\/png\.$/,
    ],
    [['-m', 'dall-e-3', '-o', 'a-{index}.jpg'], /names image\/jpeg; dall-e-3.* delivers only image\/png\.$/],
    [
      ['-m', 'gpt-image-1', '-o', 'a.gif'],
      /names image\/gif; gpt-image-1.* delivers only image\/png, image\/jpeg, image\/webp\.$/,
    ],
    [
      ['-m', 'gpt-image-1', '-o', 'a.webp', '--output-format', 'png'],
      /^-o "a\.webp" names image\/webp, but --output-format asks for png\.$/,
    ],
    [['-m', 'my-own', '-o', 'a.webp', '--output-format', 'png'], /but --output-format asks for png\.$/],
    [['-m', 'gpt-image-2', '-o', 'a.mp4'], /^-o "a\.mp4" names video\/mp4; gpt-image-2 delivers only /],
    [['-o', 'a.png', '--body', '{"output_format":"webp"}'], /but --output-format asks for webp\.$/],
  ])('is refused where it cannot be: %j', async (argv, message) => {
    const { exit, lines, hint } = await imageRefusal(['create', ...argv, 'A kite'], { cwd })
    expect([exit, lines]).toEqual([2, [expect.stringMatching(message)]])
    expect(hint).toBe('Change the extension; with {ext} in its place the name gets that of the image.')
    await expect(imageCall(['create', ...argv, '--no-validate', 'A kite'], { cwd })).resolves.toBeDefined()
  })
})
