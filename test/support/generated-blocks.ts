import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { load } from 'js-yaml'
import { environmentRows } from '../../src/commands/help/topics.ts'
import { flagName, settingNames, settingTable } from '../../src/config/setting-table.ts'
import { errorCodes, exitCodes } from '../../src/errors.ts'
import { faultTables } from './fault-tables.ts'
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
