import { readFileSync } from 'node:fs'
import { array, assert, asyncProperty, string } from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { aboutCommand } from '../../../src/command-entries.ts'
import { complete } from '../../../src/commands/completion/complete.ts'
import type { Place } from '../../../src/commands/completion/live-values.ts'
import { projectRoot } from '../../support/pages.ts'
import { programCommands } from '../../support/program-tree.ts'
import { runMain } from '../../support/run-main.ts'
import { runs } from '../../support/sample.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'

const commands = await programCommands()
let place: Place

beforeEach(() => {
  const home = temporaryFolder()
  place = { home, cwd: home, env: { HOME: home }, platform: 'linux', now: 0 }
  writeFiles(home, {
    '.config/modelgate/config.yaml':
      'text_model: text;model\nprofiles: { work: { base_url: https://gw.example } }\n',
    'modelgate.yaml': `jobs: { hero: { out: hero.webp }, "it's $(x)": {}, 'shop/a:b2': {}, 'shop/@c': {}, two words: {}, 'x[1]': {} }`,
  })
})

async function ask(...sent: string[]): Promise<string[]> {
  const answer = await complete(sent, place, () => commands)
  expect(answer === '' || answer.endsWith('\n')).toBe(true)
  return answer.split('\n').slice(0, -1)
}

const wordBreaks = ' \t\n"\'@><=;|&(:'
/** What bash makes of the word at the end of a line. A tab stands for the names of files. */
const bash = async (line: string) => ask('bash', wordBreaks, line)

test.each(['bash', 'zsh', 'fish', 'powershell'])('completion %s prints the script', async (shell) => {
  const name = { zsh: '_modelgate', powershell: 'modelgate.ps1' }[shell] ?? `modelgate.${shell}`
  const out = readFileSync(new URL(`completions/${name}`, projectRoot), 'utf8')
  expect(await runMain(['completion', shell])).toMatchObject({ code: 0, out, err: '' })
})

test.each([[['completion']], [['completion', 'tcsh']]])('%j is a usage error', async (argv) => {
  expect(await runMain(argv)).toMatchObject({ code: 2, out: '' })
})

describe('after these words come', () => {
  test.each<[string, string[]]>([
    ['modelgate ', Object.keys(aboutCommand).filter((name) => !name.includes(' '))],
    ['modelgate comp', ['completion']],
    ['modelgate completion ', ['bash', 'zsh', 'fish', 'powershell']],
    ['modelgate help exit', ['exit-codes']],
    ['modelgate image ', ['create', 'edit']],
    // A command only where its group expects one, and text after it.
    ['modelgate image create ed', []],
    ['modelgate generate comp', []],
    ['modelgate bogus comp', []],
    // A model that is called like a command is not one.
    ['modelgate --profile respond comp', ['completion']],
    ['modelgate --json --model=generate comp', ['completion']],
    // Options of the command, and no others.
    ['modelgate generate --ret', ['--retry']],
    ['modelgate sandbox --thinking-l', []],
    ['modelgate sandbox --qui', ['--quiet']],
    ['modelgate video status --bod', []],
    ['modelgate image --mode', []],
    ['modelgate schema --he', ['--help']],
    ['modelgate help -', '--all --json -q --quiet --debug --no-stdin --no-input -h --help'.split(' ')],
    // An option twice only where that means something.
    ['modelgate generate -m a --mode', []],
    ['modelgate --profile work generate --prof', []],
    ['modelgate generate --set a=1 --set', ['--set']],
    // Hidden: the opposite of a switch.
    ['modelgate respond --no-par', []],
    ['modelgate generate -- --js', []],
    ['modelgate generate -5 --js', ['--json', '--jsonl']],
    // Values of options, also behind "=" and in the same word.
    ['modelgate generate --retry ', ['never', 'safe', 'always']],
    ['modelgate generate --retry=al', ['always']],
    ['modelgate generate --thinking-level HI', ['HIGH']],
    ['modelgate generate --sparkle=', []],
    // Files as they are, and behind "@", which bash replaces as well.
    ['modelgate generate -o ', ['\t']],
    ['modelgate generate -oque', ['\t-o']],
    ['modelgate generate --output=que', ['\t']],
    ['modelgate generate @que', ['\t@']],
    ['modelgate generate --schema que', ['\t']],
    ['modelgate generate --contents @que', ['\t@']],
    ['modelgate generate --contents=@que', ['\t@']],
    ['modelgate respond --tool web', ['web_search', 'web_search_preview']],
    // What only this machine knows.
    ['modelgate generate -m te', [String.raw`text\;model`]],
    ['modelgate generate -mte', [String.raw`-mtext\;model`]],
    ['modelgate image create --model=gpt-image-2.5-f', ['gpt-image-2.5-flare']],
    ['modelgate generate --profile ', ['work']],
    ['modelgate run he', ['hero']],
    ['modelgate run ado', ['adopt']],
    ['modelgate run -- ado', []],
    ['modelgate run pick sh', ['shop/a:b2', 'shop/@c']],
    ['modelgate video status he', []],
  ])('%s', async (line, expected) => {
    expect(await bash(line)).toEqual(expected)
  })

  test('commands of a group and jobs together', async () => {
    expect(await bash('modelgate run ')).toEqual(expect.arrayContaining(['worker', 'hero']))
  })
})

describe('bash keeps what stands before its word', () => {
  test.each<[string, string[]]>([
    ['modelgate run shop/a:', ['b2']],
    ['modelgate run shop/@', ['@c']],
    [String.raw`modelgate run shop/a\:`, [String.raw`shop/a:b2`]],
    ['modelgate run --regenerate=x', [String.raw`x\[1\]`]],
    [String.raw`modelgate run x\[`, [String.raw`x\[1\]`]],
    [String.raw`modelgate run two\ w`, [String.raw`two\ words`]],
    ['modelgate run "two w', ['two words']],
    ["modelgate run 'two w", ['two words']],
    ['modelgate run --regenerate="two w', ['two words']],
    ['modelgate run two" "w', [String.raw`two\ words`]],
    ['modelgate run "two words" "sho', ['shop/a:b2', 'shop/@c']],
    ['modelgate run it', [String.raw`it\'s\ \$\(x\)`]],
    // What acts inside quotes cannot be completed there.
    ['modelgate run "it', []],
    ['modelgate   generate\n -o "two w', ['\t']],
    ['modelgate generate @"two w', ['\t']],
  ])('%s', async (line, expected) => {
    expect(await bash(line)).toEqual(expected)
  })

  test('or all of it, where it breaks no words', async () => {
    expect(await ask('bash', ' ', 'modelgate run --regenerate=shop/a:')).toEqual(['--regenerate=shop/a:b2'])
    expect(await ask('bash', ' ', 'modelgate generate --contents=@a')).toEqual(['\t--contents=@'])
  })
})

test.each<[string[], string[]]>([
  [
    ['zsh', 'run', ''],
    ['hero:hero.webp', "it's $(x)", String.raw`shop/a\:b2`, 'shop/@c', 'two words', 'x[1]'],
  ],
  [['fish', 'run', '-h', '--regenerate', 'h'], ['hero\thero.webp']],
  [['fish', 'run', '--regenerate=shop/a'], ['--regenerate=shop/a:b2\t']],
  [['powershell', 'run', 'two '], [`'two words'\ttwo words\ttwo words`]],
  [['powershell', 'run', 'it '], [`'it''s $(x)'\tit's $(x)\tit's $(x)`]],
  [['powershell', 'generate', '--profile', ' '], ['work\twork\tgw.example']],
  [['zsh', 'schema', '--'], ['--help:show help']],
  [['zsh', 'generate', '--output=que'], ['\t--output=']],
])('of descriptions and quotes each shell gets what it takes: %j', async (sent, expected) => {
  expect((await ask(...sent)).slice(-expected.length)).toEqual(expected)
})

test('whatever is typed, the answer is no failure', async () => {
  const shell = array(string({ unit: 'binary' }), { maxLength: 5 })
  await assert(
    asyncProperty(shell, string({ unit: 'binary' }), async (words, line) => {
      for (const name of ['bash', 'zsh', 'fish', 'powershell']) await ask(name, ...words)
      for (const start of ['', 'modelgate run ', 'modelgate generate --body=']) await bash(start + line)
    }),
    runs(25),
  )
  for (const name of ['bash', 'zsh', 'fish', 'powershell']) await ask(name)
})

test.each<[string, Record<string, string>]>([
  ['not valid', { '.config/modelgate/config.yaml': 'profiles: [', 'modelgate.yaml': 'jobs: [' }],
  ['too large to be read at a prompt', { 'modelgate.yaml': `jobs: { hero: {} } #${'#'.repeat(250_000)}` }],
])('files that are %s leave commands and options as they are', async (_, files) => {
  writeFiles(place.home, files)
  expect(await bash('modelgate run res')).toEqual(['restore'])
  expect(await bash('modelgate run he')).toEqual([])
  expect(await bash('modelgate image create -m sora')).toEqual([])
  expect(await bash('modelgate video generate -m sora-2')).toEqual(['sora-2', 'sora-2-pro'])
})

test('a list of commands that cannot be read yields nothing', async () => {
  expect(await complete(['zsh', ''], place, () => JSON.parse('{') as never)).toBe('')
})
