import type { JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'

export interface Scope {
  /** The values of the row; null for a job without `each`, `waiting` where they are not known yet: they stay as written. */
  readonly columns: JsonObject | 'waiting' | null
  readonly vars: ReadonlyMap<string, string>
  readonly usedVars: Set<string>
  /** Of `env:`; undefined for one that is not set. */
  readonly variables: ReadonlyMap<string, string | undefined>
}

/** `$${` is a literal `${`; a value ends in the line that it begins in. */
const pattern = /\$\$\{|\$\{([^}\n]*)\}|\$\{/g

/**
 * Replaces `${name}`, `${var:NAME}`, `${env:NAME}`, and `$${` by `${`; what cannot be replaced stays as it was written.
 * @param escape changes what is put in
 */
export function substitute(text: string, scope: Scope, escape = (value: string) => value) {
  const problems: string[] = []
  const value = text.replace(pattern, (written: string, name: string | undefined) => {
    if (written === '$${') return '${'
    const found = name === undefined ? unclosed : valueOf(name, scope)
    if ('text' in found) return escape(found.text)
    problems.push(found.problem)
    return written
  })
  return { value, problems }
}

type Found = { readonly text: string } | { readonly problem: string }

const unclosed: Found = { problem: '`${` has no `}` in its line. For a literal `${` write `$${`.' }

function valueOf(name: string, scope: Scope): Found {
  const [, list, own = name] = /^(env|var):(.*)$/.exec(name) ?? []
  const written = `\`\${${name}}\``
  if (list === undefined) return columnOf(name, written, scope)
  if (list === 'var') scope.usedVars.add(own)
  const texts = list === 'var' ? scope.vars : scope.variables
  const text = texts.get(own)
  if (text !== undefined) return { text }
  if (texts.has(own)) return { problem: `The environment variable ${own} of ${written} is not set.` }
  const near = nearestName(own, [...texts.keys()])
  const suggestion = near && `did you mean \`\${${list}:${near}}\`?`
  const [absent, place] =
    list === 'var'
      ? ['is not among the texts of `vars:`', '`vars:`']
      : ['names a variable that the manifest does not declare', '`env:`']
  return { problem: `${written} ${absent}: ${suggestion ?? `add ${own} to ${place}.`}` }
}

function columnOf(name: string, written: string, { columns }: Scope): Found {
  if (columns === null) {
    return {
      problem: `${written} names a column, but the job has no \`each\`. For a literal \`\${\` write \`$\${\`.`,
    }
  }
  if (columns === 'waiting') return { text: written.slice(1, -1) }
  const names = Object.keys(columns)
  if (names.includes(name)) {
    const value = columns[name]
    if (value !== null && typeof value !== 'object') return { text: String(value) }
    const what = value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object'
    return { problem: `${written} is ${what} in the row, not a text.` }
  }
  const near = nearestName(name.trim(), names)
  const hint = near === undefined ? `there are ${shownNames(names)}.` : `did you mean \`\${${near}}\`?`
  return { problem: `${written} is not a column of the row: ${hint}` }
}

const maxListed = 8

function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, maxListed).join(', ')
  return names.length > maxListed ? `${shown} …` : shown || 'none'
}
