import { nearestName } from '../../nearest-name.ts'

export interface Scope {
  /** The values of the row; null for a job without `each`. */
  readonly columns: Readonly<Record<string, string>> | null
  /** The environment variables that the manifest declares. */
  readonly declared: readonly string[]
  readonly variables: Readonly<Record<string, string | undefined>>
}

/** `$${` is a literal `${`; a value ends in the line that it begins in. */
const pattern = /\$\$\{|\$\{([^}\n]*)\}|\$\{/g

/**
 * Replaces `${name}` by a column of the row, `${env:NAME}` by a declared variable, and `$${` by `${`.
 * What is put in is not looked through again.
 * @param escape changes what is put in
 * @returns with what could not be replaced as it was written, and why: each a sentence
 */
export function substitute(
  text: string,
  scope: Scope,
  escape: (value: string) => string = (value) => value,
): { readonly value: string; readonly problems: readonly string[] } {
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
  return name.startsWith('env:') ? variableOf(name.slice('env:'.length), scope) : columnOf(name, scope)
}

function variableOf(name: string, { declared, variables }: Scope): Found {
  const written = `\`\${env:${name}}\``
  if (!declared.includes(name)) {
    const near = nearestName(name, declared)
    const hint = near === undefined ? `add ${name} to \`env:\`.` : `did you mean \`\${env:${near}}\`?`
    return { problem: `${written} names a variable that the manifest does not declare: ${hint}` }
  }
  const text = Object.hasOwn(variables, name) ? variables[name] : undefined
  return text === undefined
    ? { problem: `The environment variable ${name} of ${written} is not set.` }
    : { text }
}

function columnOf(name: string, { columns }: Scope): Found {
  const written = `\`\${${name}}\``
  if (columns === null) {
    return {
      problem: `${written} names a column, but the job has no \`each\`. For a literal \`\${\` write \`$\${\`.`,
    }
  }
  if (Object.hasOwn(columns, name)) return { text: columns[name]! }
  const names = Object.keys(columns)
  const near = nearestName(name.trim(), names)
  const hint = near === undefined ? `there are ${listed(names)}.` : `did you mean \`\${${near}}\`?`
  return { problem: `${written} is not a column of the row: ${hint}` }
}

const maxListed = 8

function listed(names: readonly string[]): string {
  const shown = names.slice(0, maxListed).join(', ')
  return names.length > maxListed ? `${shown} …` : shown || 'none'
}
