import { Option, type Command } from 'commander'
import { explainCommon, strictMeanings, type CommonOptions, suggestWords } from '../shared/common-options.ts'
import type { Context } from '../../context.ts'

/** The options of both image commands, beside the fields of their requests. */
export interface ImageOptions extends CommonOptions {
  savePartials?: true
  sidecar?: true
  skipExisting?: true
  download: boolean
  preview?: string
  allowPrivateUrls?: true
}

/** How a picture may be shown on a terminal. */
export const previewModes = ['auto', 'kitty', 'iterm', 'sixel', 'blocks', 'off'] as const
export type PreviewMode = (typeof previewModes)[number]

export function addImageOptions(command: Command): void {
  explainCommon(command, strictMeanings.images)
  const options = [
    new Option('--save-partials', 'keep the previews that stream in, beside the image'),
    new Option('--sidecar', 'write a JSON record beside each image'),
    new Option('--skip-existing', 'make only the images whose files are not there yet'),
    new Option('--no-download', 'print result URLs and when they expire, save nothing'),
    suggestWords(new Option('--preview <mode>', 'show pictures on the terminal'), previewModes),
    new Option('--allow-private-urls', 'fetch results from private addresses, too'),
  ]
  for (const option of options) command.addOption(option.helpGroup('Result:'))
}

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
    ...(force && skipExisting ? ['--force and --skip-existing cannot be used together.'] : []),
  ]
}

/** The names of the flags that were given. */
function named(flags: Readonly<Record<string, boolean | undefined>>): string[] {
  return Object.keys(flags).filter((name) => flags[name])
}
