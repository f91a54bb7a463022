import type { ProfileKey } from '../events/checks.ts'
import { shellWord } from '../files/file-error.ts'
import type { Styles } from './screen.ts'
import { oneLine, tabbedText, type Columns } from './table-cells.ts'
import { wrap } from './line-breaks.ts'

/**
 * The key of each profile, a few lines for people; for scripts one line each: profile, `current` or nothing, last four
 * characters, source, base URL, problem.
 */
export function keyReport(
  entries: readonly ProfileKey[],
  styles: Styles,
  columns: Columns,
  shorten: (text: string) => string,
): string {
  if (columns === undefined) {
    return tabbedText(entries, ({ profile, current, last_four, source, base_url, problem, check }) => {
      const state = problem ?? (source === null ? 'no key' : (check?.message ?? ''))
      return [profile, current ? 'current' : '', last_four, source, base_url, state]
    })
  }
  return entries.map((entry) => block(entry, styles, columns, shorten)).join('\n')
}

type Mark = readonly [sign: string, tone: keyof Styles, text: string]

function block(
  entry: ProfileKey,
  styles: Styles,
  columns: number,
  shorten: (text: string) => string,
): string {
  const { profile, current, base_url: url } = entry
  const head = `${profile}${current ? ' (in use)' : ''}${url === null ? '' : `  ${url}`}`
  const lines = marks(entry).map(([sign, tone, text]) => {
    const shown = oneLine(shorten(text))
    return `  ${styles[tone](sign)} ${wrap(`    ${shown}`, columns, '    ').slice(4)}`
  })
  return [wrap(oneLine(head), columns, '  '), ...lines].map((line) => `${line}\n`).join('')
}

function marks({ profile, source, last_four, problem, warning, check, current }: ProfileKey): Mark[] {
  const login = `modelgate auth login${current && profile === 'default' ? '' : ` --profile ${shellWord(profile)}`}`
  const key = last_four === null ? 'A key' : `Key …${last_four}`
  const own: Mark =
    problem !== null
      ? ['✗', 'error', problem]
      : source === null
        ? ['✗', 'error', `No API key is set. Store one: ${login}`]
        : ['✓', 'success', `${key} from ${source}`]
  const signs = { accepted: ['✓', 'success'], refused: ['✗', 'error'], unknown: ['!', 'warning'] } as const
  return [
    own,
    ...(warning === null ? [] : [['!', 'warning', warning] as const]),
    ...(check === null ? [] : [[...signs[check.state], check.message] as const]),
  ]
}
