import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { load } from 'js-yaml'
import { environmentRows } from '../../src/commands/help/topics.ts'
import { flagName, settingNames, settingTable } from '../../src/config/setting-table.ts'
import { errorCodes, exitCodes } from '../../src/errors.ts'
import { calls } from '../faults/calls.ts'
import { casesOf, type FaultRow } from '../faults/row.ts'
import { faultRows } from '../faults/rows.ts'
import { isCalled } from '../../build/man-page.ts'
import type { HelpDocument, HelpOption } from '../../src/events/help-document.ts'
import { markdownTable } from './markdown-table.ts'
import { projectRoot } from './pages.ts'

/** The parts of the pages in docs/ that are written by the program itself, by the name in their marker. */
export function generatedBlocks(program: Command): Readonly<Record<string, string>> {
  return {
    commands: markdownTable(['command', 'what it does'], commandRows(program, 'modelgate')),
    'exit-codes': markdownTable(
      ['code', 'meaning', 'what a script may do'],
      Object.values(exitCodes).map(({ code, meaning, advice }) => [String(code), meaning, advice]),
    ),
    'error-codes': markdownTable(
      ['code', 'what it says'],
      Object.entries(errorCodes).map(([code, about]) => [`\`${code}\``, about]),
    ),
    environment: markdownTable(
      ['variable', 'what it is'],
      environmentRows().map(([names, about]) => [names.replaceAll(/[A-Z][\w=]+/g, '`$&`'), about]),
    ),
    'action-inputs': markdownTable(['input', 'what it is', 'default'], actionRows('inputs')),
    'action-outputs': markdownTable(
      ['output', 'what it is'],
      actionRows('outputs').map((row) => row.slice(0, 2)),
    ),
    ...faultTables(),
    settings: markdownTable(['setting', 'what it is', 'flag', 'default', 'project file'], settingRows()),
  }
}

/** What the GitHub Action takes and gives, as action.yml says it. */
function actionRows(part: 'inputs' | 'outputs'): string[][] {
  const action = load(readFileSync(new URL('action.yml', projectRoot), 'utf8')) as Record<
    typeof part,
    Readonly<Record<string, { readonly description: string; readonly default?: string }>>
  >
  return Object.entries(action[part]).map(([name, { description, default: preset = '' }]) => [
    `\`${name}\``,
    description.trim(),
    preset === '' ? '' : `\`${preset}\``,
  ])
}

const projectMarks = {
  'may set': '',
  'only to a trusted origin': 'trusted origin',
  'only to lower it': 'lower',
} as const

/** Names of environment variables follow from those of the settings. */
function settingRows(): string[][] {
  return settingNames.map((name) => {
    const { file, about, flag, default: preset, project } = settingTable[name]
    const hasDefault = preset !== undefined && typeof preset !== 'object'
    return [
      `\`${file}\``,
      about,
      flag === undefined ? '' : `\`${flagName(flag)}\``,
      hasDefault ? `\`${String(preset)}\`` : '',
      project === undefined ? 'never' : projectMarks[project],
    ]
  })
}

function commandRows(parent: Command, path: string): string[][] {
  return parent.commands.flatMap((command) => {
    const name = `${path} ${command.name()}`
    const below = commandRows(command, name)
    // A group does nothing by itself, unless it has options of its own.
    if (below.length > 0 && command.options.length === 0) return below
    const usage = below.length === 0 ? command.usage() : command.usage().replace(' [command]', '')
    return [[`\`${name} ${usage}\``, command.description()], ...below]
  })
}

/**
 * Puts each block between `<!-- generated:NAME -->` and `<!-- /generated -->`.
 * @throws when a marker has an unknown name
 */
export function replaceBlocks(text: string, blocks: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /(<!-- generated:([\w-]+) -->\n)[^]*?(<!-- \/generated -->)/g,
    (_, start: string, name: string, end: string) => {
      const block = blocks[name]
      if (block === undefined) throw new Error(`No block is called ${name}.`)
      return `${start}\n${block}\n\n${end}`
    },
  )
}

const sections = ['A', 'B', 'C', 'D', 'E', 'F', 'G'] as const

/** The tables of docs/faults.md: one for each section, and one of what cannot be tried by the catalogue. */
function faultTables(): Readonly<Record<string, string>> {
  const heading = ['#', 'fault', 'what happens', 'exit', 'calls']
  const tables = sections.map((letter) => {
    const rows = faultRows.filter(({ id }) => id.startsWith(letter)).toSorted(byNumber)
    return [`faults-${letter.toLowerCase()}`, markdownTable(heading, rows.map(cellsOf))] as const
  })
  const others = faultRows.filter(({ note }) => note !== undefined).toSorted(byNumber)
  const notes = others.map(({ id, fault, note = '' }) => [id, fault, note])
  return {
    ...Object.fromEntries(tables),
    'faults-elsewhere': markdownTable(['#', 'fault', 'where it is shown, or why it is not'], notes),
  }
}

/** Exit codes are those of single commands; the last cell is the number of calls at which the row is tried. */
function cellsOf(row: FaultRow): string[] {
  const cases = casesOf([row], calls)
  const exits = new Set(cases.map(({ expected }) => expected.exit))
  const tried = new Set(cases.map(({ call }) => call))
  const codes = [...exits].toSorted((one, other) => one - other).join(', ')
  return [row.id, row.fault, row.happens, codes, tried.size === 0 ? '' : String(tried.size)]
}

function byNumber(one: FaultRow, other: FaultRow): number {
  const [a, b] = [one.id, other.id]
  return a[0] === b[0] ? Number(a.slice(1)) - Number(b.slice(1)) : a < b ? -1 : 1
}

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
