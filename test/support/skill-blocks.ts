import type { HelpDocument, HelpOption } from '../../src/events/help-document.ts'
import { isCalled } from '../../build/man-page.ts'
import { markdownTable } from './markdown-table.ts'

/** The parts of skills/modelgate/SKILL.md that are written by the program itself, by the name in their marker. */
export function skillBlocks(document: HelpDocument): Readonly<Record<string, string>> {
  const { commands, exit_codes } = document
  const optionsOf = (name: string) => commands.find((command) => command.name === name)!.options
  return {
    commands: markdownTable(
      ['command', 'what it does'],
      commands
        .filter((command) => command.name !== '' && isCalled(command))
        .map(({ name, about }) => [`\`modelgate ${name}\``, about]),
    ),
    'exit-codes': markdownTable(
      ['code', 'meaning', 'what to do'],
      exit_codes.map(({ code, meaning, advice }) => [String(code), meaning, advice ?? '']),
    ),
    'image-flags': flagTable(
      optionsOf('image create').filter(
        ({ value, common, flag }) => value !== null && (!common || ['--model', '--output'].includes(flag)),
      ),
    ),
    'image-limits': markdownTable(
      ['models', 'size', 'quality', 'n', 'formats', 'background'],
      limitRows(optionsOf('image create')),
    ),
    'video-flags': flagTable(
      optionsOf('video generate').filter(({ value, common }) => value !== null && !common),
    ),
  }
}

function flagTable(options: readonly HelpOption[]): string {
  return markdownTable(
    ['flag', 'what it is'],
    options.map(({ flag, short, about }) => [
      [short, flag]
        .filter(Boolean)
        .map((name) => `\`${name}\``)
        .join(', '),
      about,
    ]),
  )
}

/** One row for each family of models: what it takes, where that is limited. */
function limitRows(options: readonly HelpOption[]): string[][] {
  const size = options.find(({ flag }) => flag === '--size')!
  return size.limits.map(({ family, models }) => {
    const limitOf = (flag: string) =>
      options.find((option) => option.flag === flag)!.limits.find((limit) => limit.family === family)?.limit
    const words = (flag: string) => {
      const limit = limitOf(flag)
      return limit === undefined ? 'any' : limit.taken ? (limit.values ?? ['any']).join(', ') : 'not taken'
    }
    const rule = limitOf('--size')!.size
    const sizes =
      rule === null
        ? words('--size')
        : `auto, or WxH: multiples of ${rule.multiple_of}, edges up to ${rule.max_edge}, up to 1:${rule.max_ratio}, ${rule.min_pixels} to ${rule.max_pixels} pixels`
    const most = limitOf('--n')?.max ?? options.find(({ flag }) => flag === '--n')!.value!.max
    // The stand-ins of the specification are for gateways without public names.
    const names = models.filter((id) => id !== family)
    return [
      (names.length > 0 ? names : models).join(', '),
      sizes,
      words('--quality'),
      `1 to ${most}`,
      words('--output-format'),
      words('--background'),
    ]
  })
}
