import { topics } from '../src/commands/help/topics.ts'
import type { HelpCommand, HelpDocument, HelpOption } from '../src/events/help-document.ts'

/** The day that the page names: of the text, not of the build, so that the same source gives the same page. */
const day = '2026-11-22'

/** Topics that other sections of the page hold already. */
const ownSections = new Set(['exit-codes', 'environment'])

/** `man/modelgate.1`, in the man macros, which groff and mandoc both know. */
export function manPage(document: HelpDocument): string {
  const { program, program_version, commands, exit_codes, environment } = document
  const [root, ...others] = commands as [HelpCommand, ...HelpCommand[]]
  return [
    `.TH MODELGATE 1 ${day} "${program} ${program_version}" "User Commands"`,
    section('NAME', [text(`${program} - ${root.about.toLowerCase().replace(/\.$/, '')}`)]),
    section('SYNOPSIS', [`.B ${program}`, text('COMMAND [OPTION...] [ARGUMENT...]')]),
    section('DESCRIPTION', [
      text(
        'Streamed text in two styles, images, image edits and video jobs, from one gateway to hosted models. Standard output is the result and nothing else; messages go to standard error. Nothing asks or hangs without a terminal.',
      ),
      '.PP',
      text(
        'The built-in sandbox (--sandbox) obeys the same contract, so that every command runs offline and at no cost.',
      ),
    ]),
    section('EXAMPLES', root.examples.flatMap(exampleLines).slice(1)),
    section('COMMANDS', others.filter(isCalled).flatMap(commandLines)),
    section('OPTIONS THAT COMMANDS SHARE', [
      text('As respond has them. The help of a command shows which it has, and what they mean for it.'),
      ...others
        .find(({ name }) => name === 'respond')!
        .options.filter(({ common }) => common)
        .flatMap(optionLines),
      ...entry(bold('-V') + ', ' + bold('--version'), 'print the version'),
      ...entry(bold('-h') + ', ' + bold('--help'), 'show help; with --all, every option'),
    ]),
    ...Object.entries(topics)
      .filter(([name]) => !ownSections.has(name))
      .map(([name, { blocks }]) => section(name.toUpperCase(), Object.entries(blocks).flatMap(blockLines))),
    section('EXIT STATUS', [
      ...exit_codes.flatMap(({ code, meaning, advice }) =>
        entry(bold(String(code)), advice === null ? `${meaning}.` : `${meaning}. What to do: ${advice}.`),
      ),
      '.PP',
      text('New codes may be added: treat an unknown code as failure.'),
    ]),
    section(
      'ENVIRONMENT',
      environment.flatMap(({ variables, about }) => entry(bold(variables.join(', ')), about)),
    ),
    section('FILES', [
      ...entry(
        italic('$XDG_CONFIG_HOME/modelgate/config.yaml'),
        'the settings of the user (~/.config by default)',
      ),
      ...entry(italic('.modelgaterc.yaml'), 'the settings of a project, from the working directory up'),
      ...entry(
        italic('$XDG_STATE_HOME/modelgate/'),
        'job records, the log and rescued results (~/.local/state by default)',
      ),
    ]),
    '',
  ].join('\n')
}

/** Not only a name for the commands below it. */
export const isCalled = ({ commands, options }: HelpCommand) => commands.length === 0 || options.length > 0

function section(heading: string, lines: readonly string[]): string {
  return [`.SH ${heading.includes(' ') ? `"${heading}"` : heading}`, ...lines].join('\n')
}

function commandLines({ name, about, usage, options, examples }: HelpCommand): string[] {
  const own = options.filter(({ common }) => !common)
  return [
    `.SS "modelgate ${name}"`,
    text(`${about}.`),
    '.PP',
    text(usage),
    ...own.flatMap(optionLines),
    ...examples.slice(0, 2).flatMap(exampleLines),
  ]
}

function optionLines({ flag, short, value, about, default: byDefault }: HelpOption): string[] {
  const names = [...(short === null ? [] : [short]), flag].map(bold).join(', ')
  const isTold = byDefault === null || about.includes('default') || about.includes(`(${byDefault})`)
  const facts = isTold ? about : `${about} (default ${byDefault})`
  return entry(value === null ? names : `${names} ${italic(value.placeholder)}`, facts)
}

function exampleLines({ line, about }: HelpCommand['examples'][number]): string[] {
  return [
    '.PP',
    ...(about === null ? [] : [text(`${about}:`), '.PP']),
    '.nf',
    '.RS 4',
    escaped(line),
    '.RE',
    '.fi',
  ]
}

function blockLines([heading, block]: [string, string | readonly (readonly [string, string])[]]): string[] {
  return [
    `.SS "${escaped(heading.replace(/:$/, ''))}"`,
    ...(typeof block === 'string'
      ? [text(block.split('\n')[0]!)]
      : block.flatMap(([term, about]) => entry(bold(term), about))),
  ]
}

/** A term, and below it what it means. */
function entry(term: string, about: string): string[] {
  return ['.TP', term, text(about)]
}

const bold = (words: string) => `\\fB${escaped(words)}\\fR`
const italic = (words: string) => `\\fI${escaped(words)}\\fR`

/** A paragraph, in lines that an editor can show. */
function text(words: string): string {
  const lines: string[] = []
  for (const word of words.split(/\s+/)) {
    const last = lines.at(-1)
    if (last === undefined || escaped(`${last} ${word}`).length > 76) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map(escaped).join('\n')
}

/** Nothing in it is a request or an escape. */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=[.'])/, '\\&')
    .replaceAll(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
}
