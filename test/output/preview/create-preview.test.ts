import { expect, test } from 'vitest'
import { createPreview } from '../../../src/output/preview/create-preview.ts'
import { type PreviewMode, detectProtocol, type Protocol } from '../../../src/output/terminal-abilities.ts'
import { encodeJpeg, encodeWebp } from '../../../src/files/codecs.ts'
import { gifBytes, jpegBytes, noisyPng, pngBytes } from '../../support/image-bytes.ts'
import { drawableSink } from '../../support/drawable-sink.ts'
import { memorySink } from '../../support/memory-sink.ts'
import { testContext, type TestOverrides } from '../../support/test-context.ts'

async function show(
  mode: PreviewMode,
  images: readonly Uint8Array[],
  { caption = '', ...overrides }: TestOverrides & { readonly caption?: string } = {},
) {
  const context = testContext({ terminal: true, ...overrides })
  const notices: string[] = []
  const preview = createPreview(context, mode, (message) => void notices.push(message))
  for (const bytes of images) await preview!.show({ bytes, ...(caption === '' ? {} : { caption }) })
  expect(context.stdout.text).toBe('')
  return { screen: context.stderr.text, notices }
}

const rows = [Buffer.of(255, 0, 0, 255, 0, 255, 0, 255), Buffer.of(0, 0, 255, 255, 255, 255, 255, 255)]
/** Red and green above blue and white. */
const tiny = pngBytes({ width: 2, height: 2, rows })
const base64 = tiny.toString('base64')
const truecolor = { env: { COLORTERM: 'truecolor' } }

/** A character of a picture; `r;g;b` above and below. */
const cell = (upper: string, lower: string) => `\x1b[38;2;${upper}m\x1b[48;2;${lower}m▀\x1b[49m\x1b[39m`

const white = pngBytes({ width: 1, height: 3, rows: [0, 1, 2].map(() => Buffer.alloc(4, 255)) })

test.each<[string, Buffer, object, string]>([
  ['', tiny, truecolor, `${cell('255;0;0', '0;0;255')}${cell('0;255;0', '255;255;255')}\n`],
  [
    ' in 256 colours',
    tiny,
    {},
    '\x1b[38;5;196m\x1b[48;5;21m▀\x1b[49m\x1b[39m\x1b[38;5;46m\x1b[48;5;231m▀\x1b[49m\x1b[39m\n',
  ],
  [
    ', with an odd last row that is left to the terminal',
    white,
    truecolor,
    `${cell('255;255;255', '255;255;255')}\n\x1b[38;2;255;255;255m▀\x1b[39m\n`,
  ],
])('half blocks%s', async (_, bytes, overrides, screen) => {
  expect((await show('blocks', [bytes], overrides)).screen).toBe(screen)
})

test('transparency shows a checkerboard, and half of it half of one', async () => {
  const clear = (alpha: number) => Buffer.from([1, 2, 3, 4, 5].flatMap(() => [255, 255, 255, alpha]))
  const bytes = pngBytes({ width: 5, height: 2, rows: [clear(0), clear(128)] })
  const { screen } = await show('blocks', [bytes], truecolor)
  const [light, dark] = [cell('153;153;153', '204;204;204'), cell('102;102;102', '179;179;179')]
  expect(screen).toBe(`${light}${light}${dark}${dark}${light}\n`)
})

test('pixels are averaged, and what cannot be seen has no colour', async () => {
  const width = 480
  const stripes = Buffer.alloc(width * 4)
  // Red, blue, and a green that is wholly transparent.
  const colours = [Buffer.of(255, 0, 0, 255), Buffer.of(0, 0, 255, 255), Buffer.of(0, 255, 0, 0)]
  for (let x = 0; x < width; x++) stripes.set(colours[x % 3]!, x * 4)
  const bytes = pngBytes({ width, height: 480, rows: Array.from({ length: 480 }, () => stripes) })
  const { screen } = await show('blocks', [bytes], truecolor)
  // Of the first 20 pixels 7 are red and 7 blue (128, 0, 128); a light square (153) shines through the other 6.
  expect(screen.startsWith('\x1b[38;2;136;46;136m')).toBe(true)
})

test.each<[number, number, string, [columns: number, rows: number]]>([
  [80, 24, '200 200', [24, 12]],
  [80, 60, '200 200', [40, 20]],
  [80, 24, '400 100', [80, 10]],
  [80, 24, '100 400', [6, 12]],
  [80, 24, '10 10', [10, 5]],
  [20, 24, '400 100', [20, 3]],
  [20, 6, '200 200', [4, 2]],
  [20, 24, '3000 2', [20, 1]],
  [20, 24, '2 3000', [1, 12]],
])(
  '%i columns and %i rows show a picture of %s pixels on %j characters',
  async (columns, rows, size, taken) => {
    const [width, height] = size.split(' ').map(Number) as [number, number]
    const row = Buffer.alloc(width * 4, 255)
    const bytes = pngBytes({ width, height, rows: Array.from({ length: height }, () => row) })
    const stderr = drawableSink({ columns })
    Object.assign(stderr.stream!, { rows })
    const lines = (await show('blocks', [bytes], { stderr })).screen.trimEnd().split('\n')
    expect(lines.map((line) => line.split('▀').length - 1)).toEqual(
      Array.from({ length: taken[1] }, () => taken[0]),
    )
  },
)

test('kitty', async () => {
  const { screen } = await show('kitty', [tiny])
  expect(screen).toBe(`\x1b_Ga=T,f=100,q=2,r=12,m=0;${base64}\x1b\\\n`)
})

test('kitty gets a wide picture by its columns, and a long one in pieces of 4096', async () => {
  const wide = noisyPng(400, 10)
  const { screen } = await show('kitty', [wide])
  const pieces = screen.match(/\x1b_G[^\x1b]*\x1b\\/g)!
  expect(pieces.join('') + '\n').toBe(screen)
  expect(pieces[0]).toMatch(/^\x1b_Ga=T,f=100,q=2,c=80,m=1;/)
  expect(pieces.slice(1, -1).filter((piece) => !piece.startsWith('\x1b_Gm=1;'))).toEqual([])
  expect(pieces.at(-1)).toMatch(/^\x1b_Gm=0;/)
  const data = pieces.map((piece) => piece.slice(piece.indexOf(';') + 1, -2))
  expect(data.slice(0, -1).filter(({ length }) => length !== 4096)).toEqual([])
  expect(Buffer.from(data.join(''), 'base64')).toEqual(wide)
})

test('kitty gets other types as PNG', async () => {
  const picture = { data: new Uint8ClampedArray(64).fill(255), width: 4, height: 4 }
  for (const bytes of [await encodeJpeg(picture, 90), await encodeWebp(picture, 90)]) {
    const { screen } = await show('kitty', [bytes])
    const data = Buffer.from(/m=0;(.*)\x1b/.exec(screen)![1]!, 'base64')
    expect(data.toString('latin1', 1, 4)).toBe('PNG')
  }
})

test('iTerm2, which takes every type as it is', async () => {
  const { screen } = await show('iterm', [tiny, gifBytes()])
  const keys = 'width=24;height=12;preserveAspectRatio=1'
  const sequence = (bytes: Buffer) =>
    `\x1b]1337;File=inline=1;size=${bytes.length};${keys}:${bytes.toString('base64')}\x07\n`
  expect(screen).toBe(sequence(tiny) + sequence(gifBytes()))
})

test('the caption is one line, with nothing that acts on the terminal', async () => {
  const { screen } = await show('blocks', [tiny], { caption: 'a\n\x1b]0;x\x07b' })
  expect(screen.split('\n').slice(1)).toEqual(['a ␛]0;x␇b', ''])
})

const bomb = { width: 60_000, height: 60_000 }

test.each<[string, Uint8Array, string]>([
  ['no image', Buffer.from('hello'), 'no preview: the image cannot be read'],
  ['an image cut short', tiny.subarray(0, 45), 'no preview: The image/png cannot be decoded.'],
  ['a JPEG of nothing', jpegBytes(), 'no preview: The image/jpeg cannot be decoded.'],
  ['a GIF', gifBytes(), 'no preview: GIF images are not supported'],
  ['a bomb', pngBytes({ ...bomb, rows: [] }), 'no preview: 60000 × 60000 pixels are too large'],
])('%s is skipped, said once, and the next picture is shown', async (_, bytes, notice) => {
  const { screen, notices } = await show('blocks', [bytes, bytes, tiny])
  expect(notices).toEqual([notice])
  expect(screen.split('▀')).toHaveLength(3)
})

test('a terminal that has gone away is no failure', async () => {
  const stderr = memorySink({ isTerminal: true })
  stderr.fail(new Error('gone'))
  const preview = createPreview(testContext({ stderr }), 'blocks')
  await expect(preview!.show({ bytes: tiny })).resolves.toBeUndefined()
})

test('colours that nobody wants are not used unless blocks are asked for by name', async () => {
  const env = { NO_COLOR: '1' }
  expect(await show('auto', [tiny], { env })).toEqual({ screen: '', notices: [] })
  expect((await show('blocks', [tiny], { env })).screen).toContain('▀')
  const kitty = { env: { ...env, KITTY_WINDOW_ID: '1' } }
  expect((await show('auto', [tiny], kitty)).screen).toContain('\x1b_G')
})

test.each<[PreviewMode, boolean, Record<string, string>]>([
  ['off', true, {}],
  ['kitty', false, {}],
  ['kitty', true, { CI: '1' }],
  ['auto', true, { TERM: 'dumb' }],
])('there is no preview with %s, a terminal: %s, %j', (mode, terminal, env) => {
  expect(createPreview(testContext({ terminal, env }), mode)).toBeUndefined()
})

test.each<[Record<string, string>, Protocol]>([
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ TERM: 'xterm-256color', KITTY_WINDOW_ID: '3' }, 'kitty'],
  [{ TERM: 'xterm-ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'iterm'],
  [{ TERM: 'xterm-256color', WEZTERM_PANE: '0' }, 'iterm'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, 'iterm'],
  [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'iterm'],
  [{ TERM: 'xterm', TERM_PROGRAM: 'mintty' }, 'iterm'],
  [{ TERM: 'xterm-256color', KONSOLE_VERSION: '220400' }, 'kitty'],
  [{ TERM: 'xterm-256color', KONSOLE_VERSION: '211203' }, 'blocks'],
  // Inside these it is the terminal in which they were started.
  [{ TERM: 'screen-256color', TMUX: '/tmp/tmux-0/default,1,0', KITTY_WINDOW_ID: '1' }, 'blocks'],
  [{ TERM: 'screen', STY: '1.pts-0', KITTY_WINDOW_ID: '1' }, 'blocks'],
  [{ TERM: 'xterm-256color', WT_SESSION: 'x' }, 'blocks'],
  [{ TERM: 'screen-256color' }, 'blocks'],
  [{}, 'blocks'],
])('%j is drawn on with %s', (env, protocol) => {
  expect(detectProtocol(env)).toBe(protocol)
})
