import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { openAtomicFile } from '../files/atomic-file.ts'
import { manifestName } from '../pipeline/project.ts'
import { fileOption, type ManifestOptions } from './run/manifest-command.ts'
import { printLine, printNote } from './shared/call/print-document.ts'
import { addShared, addExamples } from './shared/options/common-options.ts'

const firstManifest = `# The assets of this project.
#   modelgate run --sandbox   try it, without a gateway
#   modelgate run --plan      what would be made, and why
#   modelgate run             make what is missing or out of date
version: 1
budget: { creates: 20 } # A run never creates more than this.

# What all jobs of a command have in common: its flags, with underscores.
defaults:
  image create: { model: gpt-image-2, size: 1536x1024, output_format: webp }
  image edit: { model: gpt-image-2, output_format: webp }
  respond: { model: some-model } # The text model of your gateway.

jobs:
  hero:
    image create: { prompt: 'A fishing harbour at dawn, wide shot' }
    out: assets/hero.webp
    alt: Harbour at dawn

  # @hero is the file that hero makes: when that changes, banner is made again.
  banner:
    image edit: { image: '@hero', prompt: 'The same harbour, with room for a headline' }
    out: assets/banner.webp

  # One instance for each row: captions[en] and captions[de]. A CSV or JSON file will do, too.
  captions:
    each:
      - { id: en, language: English }
      - { id: de, language: German }
    respond: { attach: '@hero', input: 'A caption in \${language}, one sentence' }
    out: 'assets/caption.\${id}.txt'
    assert: { min_chars: 10 }
`

export function registerRunInit(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate run init', 'write modelgate.yaml'],
    ['modelgate run --sandbox', 'then try it: nothing configured'],
  ])
  command.addOption(fileOption(`the file to write (default: ${manifestName} in this folder)`))
  addShared(command, 'force messages')
  command.action(async ({ file = manifestName, force, quiet }: ManifestOptions) => {
    const target = await openAtomicFile(context, file, { force: force === true })
    await target.write(firstManifest)
    await target.commit()
    await printLine(context, file)
    const named = file === manifestName ? '' : ` -f ${file}`
    if (!quiet) printNote(context, `It has three jobs. Try them: modelgate run${named} --sandbox`)
  })
}
