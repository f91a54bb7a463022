import type { Context } from '../context.ts'

/**
 * Takes the meaning out of a line that a CI runner would obey: `::set-env …` (GitHub, at its start), `##[group]`,
 * `##vso[…]`, `##teamcity[…]` (GitHub, Azure Pipelines and TeamCity, anywhere).
 */
export function defuse(line: string): string {
  return line.replaceAll(/##(?=\w*\[)/g, '## ').replace(/^\s*::/, (start) => `${start.slice(0, -1)} :`)
}

/** The same in JSON, which stays the same document: no line of it begins with a colon. */
export function defuseJson(json: string): string {
  return json.replaceAll(/##(?=\w*\[)/g, '#\\u0023')
}

/** Shows an error or a warning on the page of a workflow run as well. */
export type Annotate = (level: 'error' | 'warning', title: string, lines: readonly string[]) => void

const limit = 4_000

/** Undefined outside GitHub Actions, and where standard error is a terminal all the same. */
export function createAnnotate(
  { env, stderr }: Pick<Context, 'env' | 'stderr'>,
  gate: { line(text: string, limit: number): string },
  put: (line: string) => void,
): Annotate | undefined {
  if (env['GITHUB_ACTIONS'] !== 'true' || stderr.isTerminal) return undefined
  return (level, title, lines) => {
    const data = lines.map((line) => escapeData(gate.line(line, limit))).join('%0A')
    put(`::${level} title=${escapeProperty(gate.line(title, limit))}::${data}`)
  }
}

/** As the runner undoes it in what follows `::command::`. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
