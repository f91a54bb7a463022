import { Option, type Command } from 'commander'
import { explainCommon, strictMeanings } from '../shared/common-meaning.ts'
import type { CommonOptions } from '../shared/common-options.ts'
import { suggestWords } from '../shared/suggested-words.ts'

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
