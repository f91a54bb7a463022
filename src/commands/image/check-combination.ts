import type { Context } from '../../context.ts'
import type { ImageOptions } from './image-options.ts'

/** Which flags of one call contradict each other, each contradiction a sentence that names both. */
export function combinationProblems({ stdout }: Context, options: ImageOptions): string[] {
  const { output, download, raw, json, jsonl, force, sidecar, skipExisting, savePartials } = options
  const toStandardOutput = output === '-'
  const documents = named({ '--json': json, '--jsonl': jsonl, '--raw': raw })
  const ofFiles = named({ '--sidecar': sidecar, '--skip-existing': skipExisting })
  const ofAllFiles = [...ofFiles, ...named({ '--save-partials': savePartials })]
  const meaningless = (why: string, flags: readonly string[]) =>
    flags.map((flag) => `${why}, so ${flag} has no meaning.`)
  return [
    ...(toStandardOutput
      ? [
          ...documents.map((flag) => `-o - and ${flag} would both write to standard output.`),
          ...meaningless('-o - makes no file', ofAllFiles),
        ]
      : []),
    ...(toStandardOutput && stdout.isTerminal && documents.length === 0
      ? ['-o - would write the bytes of an image to the terminal.']
      : []),
    ...(download
      ? []
      : meaningless('--no-download saves nothing', [...named({ '-o': output !== undefined }), ...ofFiles])),
    ...(raw
      ? meaningless('--raw saves nothing', [
          ...named({ '-o': output !== undefined && !toStandardOutput }),
          ...ofAllFiles,
        ])
      : []),
    ...(force && skipExisting ? ['--force and --skip-existing exclude each other.'] : []),
  ]
}

/** The names of the flags that were given. */
function named(flags: Readonly<Record<string, boolean | undefined>>): string[] {
  return Object.keys(flags).filter((name) => flags[name])
}
