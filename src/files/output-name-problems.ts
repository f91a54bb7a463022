import { basename } from 'node:path'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { isDeviceName } from './file-name.ts'
import { templateTokens } from './output-template.ts'
import type { OutputKind, OutputTemplate } from './output-template.ts'

export interface NamedOutput {
  /** The name as it was given, tokens and all. */
  readonly text: string
  readonly template: OutputTemplate
  readonly kind: OutputKind
  readonly count: number
  /** The user named a file rather than a folder. */
  readonly isNamed: boolean
}

/** What is wrong with a name before anything is looked up: one problem each, none when it is fine. */
export function nameProblems(
  context: Context,
  { text, template, kind, count, isNamed }: NamedOutput,
): UsageError[] {
  const { tokens, unknown } = template
  const shown = JSON.stringify(text)
  const problems: UsageError[] = []
  const add = (code: string, message: string, hint?: string) =>
    problems.push(new UsageError(message, hint === undefined ? { code } : { code, hint }))

  if (text === '-') {
    if (count > 1) {
      const hint = `Ask for one ${kind}, or name a folder: -o DIR/`
      add(`one_${kind}_only`, `-o - takes one ${kind}, and ${count} are asked for.`, hint)
    }
    return problems
  }
  if (text === '' || /[\0-\x1f\x7f]/.test(text)) {
    add('bad_file_name', `-o ${shown} is not a file name.`)
  }
  if (unknown.length > 0) {
    const known = templateTokens.map((token) => `{${token}}`).join(' ')
    add(
      'unknown_token',
      `-o ${shown}: ${unknown.join(', ')} means nothing in a file name.`,
      `Use ${known}, or {{ and }} for the braces themselves.`,
    )
  }
  if (isNamed && count > 1 && tokens.size > 0 && !tokens.has('index')) {
    add(
      'names_collide',
      `-o ${shown} gives all ${count} ${kind}s the same name.`,
      'Add {index} to the name, for example: -o "hero-{index}.{ext}"',
    )
  }
  if (text.slice(0, text.length - basename(text).length).includes('{id}')) {
    add(
      'id_in_folder',
      `-o ${shown}: {id} is known only after the ${kind}s are made, so no folder can have it.`,
    )
  }
  const refused = context.platform === 'win32' ? windowsProblem(text) : undefined
  if (refused !== undefined) add('bad_file_name', `-o ${shown}: Windows has no files named ${refused}.`)
  return problems
}

/** The first part of a path that Windows would refuse, or take for something else. */
function windowsProblem(text: string): string | undefined {
  const parts = text.replace(/^[a-z]:/i, '').split(/[/\\]/)
  const isRefused = (part: string) =>
    /[<>:"|?*]/.test(part) || isDeviceName(part) || (/[. ]$/.test(part) && !/^\.\.?$/.test(part))
  const found = parts.find(isRefused)
  return found === undefined ? undefined : JSON.stringify(found)
}
