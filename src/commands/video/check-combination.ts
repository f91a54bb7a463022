import type { Context } from '../../context.ts'
import type { VideoOptions } from './video-options.ts'

/**
 * Which flags of one call contradict each other, each contradiction a sentence that names both.
 * @param waits whether the video is waited for and saved
 */
export function combinationProblems(
  { stdout }: Pick<Context, 'stdout'>,
  { output, json, jsonl, raw }: VideoOptions,
  waits: boolean,
): string[] {
  if (output !== '-') return []
  if (!waits) return ['-o - writes the video itself, so it needs --wait; without it only an id is printed.']
  const flags = { '--json': json, '--jsonl': jsonl, '--raw': raw }
  const documents = Object.entries(flags).filter(([, isGiven]) => isGiven)
  if (documents.length === 0 && stdout.isTerminal) {
    return ['-o - would write the bytes of a video to the terminal.']
  }
  return documents.map(([flag]) => `-o - and ${flag} would both write to standard output.`)
}
