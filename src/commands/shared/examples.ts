import type { Command } from 'commander'
import type { Context } from '../../context.ts'

/** A command line to paste, and what it does where that is not plain. */
export type Example = readonly [line: string, about?: string]

/** Puts examples in front of a command's help. */
export function addExamples(command: Command, context: Context, examples: readonly Example[]): void {
  command.addHelpText('before', () => formatExamples(examples, context.stdout.columns))
}

/** Examples that can be pasted at any width: what does not fit goes on in the next line, after a backslash. */
export function formatExamples(examples: readonly Example[], columns: number): string {
  const lines = examples.map(([line, about]) => [`  $ ${line}`, about] as const)
  const aboutAt = Math.max(...lines.map(([line, about]) => (about === undefined ? 0 : line.length))) + 2
  const isBeside = lines.every(([, about = '']) => aboutAt + about.length <= columns)
  const blocks = lines.map(([line, about]) => {
    if (about === undefined) return continued(line, columns)
    return isBeside ? line.padEnd(aboutAt) + about : `  # ${about}\n${continued(line, columns)}`
  })
  return ['Examples:', ...blocks, ''].join('\n')
}

/** Breaks between words, never inside quotes. */
function continued(line: string, columns: number): string {
  const words = line.trimStart().match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? []
  const lines = ['  ']
  for (const [index, word] of words.entries()) {
    const joined = `${lines.at(-1)}${index === 0 ? '' : ' '}${word}`
    // Room for the backslash, except at the very end.
    const room = index === words.length - 1 ? columns : columns - 2
    if (joined.length <= room || index < 2) lines[lines.length - 1] = joined
    else lines.push(`      ${word}`)
  }
  return lines.join(' \\\n')
}
