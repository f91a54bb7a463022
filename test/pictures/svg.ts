import type { Frame, Recording, Run } from './record.ts'

const palettes = {
  dark: {
    background: '#0d1117',
    border: '#30363d',
    foreground: '#e6edf3',
    // The sixteen colours that terminals name.
    colours:
      '#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 #6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff'.split(
        ' ',
      ),
  },
  light: {
    background: '#ffffff',
    border: '#d0d7de',
    foreground: '#1f2328',
    colours:
      '#24292f #cf222e #116329 #7d4e00 #0969da #8250df #1b7c83 #6e7781 #57606a #a40e26 #1a7f37 #633c01 #218bff #a475f9 #3192aa #8c959f'.split(
        ' ',
      ),
  },
}

export type Theme = keyof typeof palettes
type Palette = (typeof palettes)[Theme]

const cell = { width: 8.4, height: 18 }
const margin = 16
const baseline = 13.5
const font =
  'ui-monospace,SFMono-Regular,Menlo,Consolas,&quot;Liberation Mono&quot;,&quot;DejaVu Sans Mono&quot;,monospace'

/** A still picture of one screen; rows below the last one that shows something are left out. */
export function still(frame: Frame, columns: number, theme: Theme): string {
  const rows = frame.rows.slice(0, frame.rows.findLastIndex((row) => row.length > 0) + 1)
  const body = rows.map((row, index) => placed(rowPicture(row, palettes[theme]), index)).join('\n')
  return picture(body, { columns, rows: rows.length, theme, title: 'modelgate in a terminal' })
}

/** How long the last screen stays before the picture begins again. */
const lastMs = 4000

/**
 * A moving picture, by CSS alone: each row is drawn once, and shown where and while it is on the screen. Whoever wants
 * no motion sees the last screen.
 */
export function animation({ columns, rows, frames, end }: Recording, theme: Theme): string {
  const total = end + lastMs
  const drawn = new Map<string, number>()
  const shown: string[] = []
  const steps: string[] = []
  for (const { row, index, from, to } of stays(frames, total)) {
    const key = JSON.stringify(row)
    if (!drawn.has(key)) drawn.set(key, drawn.size)
    const percent = (at: number) => `${((at / total) * 100).toFixed(3).replace(/\.?0+$/, '')}%`
    const name = `s${steps.length}`
    const last = to === total
    const before = from === 0 ? '' : '0%{visibility:hidden}'
    const after = last ? '' : `${percent(to)}{visibility:hidden}`
    steps.push(`@keyframes ${name}{${before}${percent(from)}{visibility:visible}${after}}`)
    const attributes = `${last ? ' class="l"' : ''} style="animation-name:${name}"`
    shown.push(`<use href="#r${drawn.get(key)}" y="${index * cell.height}"${attributes}/>`)
  }
  const definitions = [...drawn].map(
    ([key, id]) => `<g id="r${id}">${rowPicture(JSON.parse(key) as Run[], palettes[theme])}</g>`,
  )
  const style = `use{visibility:hidden;animation:${total}ms step-end infinite}
${steps.join('\n')}
@media(prefers-reduced-motion:reduce){use{animation:none}use.l{visibility:visible}}`
  const body = `<style>${style}</style>\n<defs>${definitions.join('\n')}</defs>\n${shown.join('\n')}`
  return picture(body, { columns, rows, theme, title: 'A session of modelgate in a terminal' })
}

/** While which rows stand where. */
function stays(frames: readonly Frame[], total: number) {
  const open = new Map<number, { row: readonly Run[]; index: number; from: number }>()
  const all: { row: readonly Run[]; index: number; from: number; to: number }[] = []
  const close = (index: number, to: number) => {
    const stay = open.get(index)
    open.delete(index)
    if (stay !== undefined && stay.row.length > 0) all.push({ ...stay, to })
  }
  for (const { at, rows } of frames) {
    for (const [index, row] of rows.entries()) {
      if (JSON.stringify(open.get(index)?.row) === JSON.stringify(row)) continue
      close(index, at)
      open.set(index, { row, index, from: at })
    }
  }
  for (const index of open.keys()) close(index, total)
  return all
}

type Facts = Pick<Recording, 'columns' | 'rows'> & { readonly theme: Theme; readonly title: string }

function picture(body: string, { columns, rows, theme, title }: Facts): string {
  const { background, border, foreground } = palettes[theme]
  const width = number(columns * cell.width + 2 * margin)
  const height = number(rows * cell.height + 2 * margin)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${title}</title>
<rect x=".5" y=".5" width="${number(columns * cell.width + 2 * margin - 1)}" height="${number(rows * cell.height + 2 * margin - 1)}" rx="8" fill="${background}" stroke="${border}"/>
<g transform="translate(${margin} ${margin})" font-family="${font}" font-size="14" fill="${foreground}" shape-rendering="crispEdges">
${body}
</g>
</svg>
`
}

function placed(content: string, index: number): string {
  return content === '' ? '' : `<g transform="translate(0 ${index * cell.height})">${content}</g>`
}

function rowPicture(row: readonly Run[], palette: Palette): string {
  return row.map((run) => runPicture(run, palette)).join('')
}

function runPicture(run: Run, palette: Palette): string {
  const { column, width, text, background, underline } = run
  const fill = colourOf(run.foreground, palette) ?? palette.foreground
  const behind = colourOf(background, palette)
  const back = behind === undefined ? '' : box(column, width, 0, cell.height, behind)
  // Drawn as shapes: fonts leave gaps between blocks.
  if (/^[▀▄█░]+$/.test(text))
    return back + [...text].map((block, at) => blockPicture(block, column + at, fill)).join('')
  const line = underline ? box(column, width, cell.height - 3, 1, fill) : ''
  const looks = [
    fill === palette.foreground ? '' : ` fill="${fill}"`,
    run.bold ? ' font-weight="bold"' : '',
    run.italic ? ' font-style="italic"' : '',
    run.dim ? ' opacity=".6"' : '',
  ].join('')
  // A run of wide characters has one of them; in any other each character is a cell.
  const words = width === text.length ? [...text.matchAll(/\S+(?: \S+)*/g)] : [{ 0: text, index: 0 }]
  const texts = words.map(({ 0: part, index }) => {
    const x = number((column + index) * cell.width)
    const cells = width === text.length ? part.length : width
    const length = ` textLength="${number(cells * cell.width)}" lengthAdjust="spacingAndGlyphs"`
    return `<text x="${x}" y="${baseline}"${length}${looks}>${escaped(part)}</text>`
  })
  return back + texts.join('') + line
}

function blockPicture(block: string, column: number, fill: string): string {
  const half = cell.height / 2
  if (block === '░') return box(column, 1, 2, cell.height - 4, fill, ' opacity=".25"')
  if (block === '█') return box(column, 1, 2, cell.height - 4, fill)
  return box(column, 1, block === '▀' ? 0 : half, half, fill)
}

/** A little wider than its cells, so that no line shows between neighbours. */
function box(column: number, width: number, y: number, height: number, fill: string, more = ''): string {
  const x = number(column * cell.width)
  return `<path fill="${fill}" d="M${x} ${y}h${number(width * cell.width + 0.3)}v${number(height + 0.3)}H${x}z"${more}/>`
}

function colourOf(colour: string | number | undefined, { colours }: Palette): string | undefined {
  if (typeof colour !== 'number') return colour
  if (colour < 16) return colours[colour]
  const grey = 8 + (colour - 232) * 10
  const steps = [0, 95, 135, 175, 215, 255]
  const at = colour - 16
  const levels =
    colour >= 232 ? [grey, grey, grey] : [36, 6, 1].map((size) => steps[Math.floor(at / size) % 6]!)
  return `#${levels.map((level) => level.toString(16).padStart(2, '0')).join('')}`
}

const number = (value: number) => String(Math.round(value * 10) / 10)

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
