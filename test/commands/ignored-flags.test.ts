import { Command, Help, type Option } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import { addCommonOptions } from '../../src/commands/shared/options/common-options.ts'
import { main } from '../../src/main.ts'
import { createProgram, loadCommand } from '../../src/program.ts'
import { questionTerminal } from '../support/question-terminal.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { maskPng } from '../support/test-images.ts'
import { testContext } from '../support/test-context.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const source = 'video_sandbox_source'
const address = 'https://127.0.0.1:1/a.png'

/** Calls that together reach whatever a command does with its flags. Each command has to be here. */
const calls: Readonly<Record<string, readonly (readonly string[])[]>> = {
  respond: [['hi'], [], ['hi', '-o', 'a.txt'], ['--tools', '{', '-a', 'gone']],
  generate: [['hi'], [], ['hi', '-o', 'a.txt'], ['--tools', '{', '-a', 'gone']],
  chat: [['hi']],
  'response status': [[], ['--wait', '-o', 'a.txt'], ['--wait'], ['--exit-status']],
  'response wait': [[], ['-o', 'a.txt'], ['--stream'], ['--starting-after', '3'], ['--schema', '{}']],
  'response cancel': [[]],
  'response list': [['--refresh'], ['--prune']],
  'image create': [
    ['A hill sandbox:fewer', '-n', '2'],
    [],
    ['A hill', '--response-format', 'url', '-m', 'image-model-b'],
  ],
  'image edit': [
    ['A hill sandbox:fewer', '-n', '2', '--image', 'a.png'],
    ['--image', 'a.png'],
    ['A hill', '--image', address],
  ],
  'video generate': [['A hill'], [], ['A hill', '--wait']],
  'video remix': [[source, 'A hill'], [source], [source, 'A hill', '--wait']],
  'video status': [[source], [source, '--wait']],
  'video wait': [[source]],
  'video list': [['--refresh'], ['--prune']],
  wait: [[source], ['--last']],
  jobs: [['--refresh'], ['--prune']],
  run: [[]],
  'run init': [[]],
  'run adopt': [['hero']],
  'run pick': [['hero', '1']],
  'run restore': [['hero']],
  'run report': [[]],
  'run merge': [['parts'], ['--resolve']],
  'run push': [['--to', '.']],
  'run pull': [['--from', '.']],
  'run worker': [
    ['--queue', 'redis://127.0.0.1:1', '--store', '.'],
    ['--queue', 'redis://127.0.0.1:1', '--store', '.', '--sandbox'],
  ],
  'run clean': [[]],
  sandbox: [
    ['--port', 'none'],
    ['--faults', 'none.yaml'],
  ],
  inspect: [['a.png'], ['-']],
  usage: [
    ['--since', 'today'],
    ['--by', 'day'],
  ],
  init: [['--base-url', 'http://127.0.0.1:1024', '--yes', '--no-check']],
  log: [['--since', '2h', '--grep', 'x', '--command', 'image', '-m', 'x', '-n', '3']],
  'log show': [['1']],
  'log clear': [['--before', '2h'], ['--force']],
  models: [[], ['--known'], ['gpt-image-2']],
  'auth login': [[], ['--api-key-file', 'key.txt']],
  'auth status': [['--check']],
  'auth logout': [[]],
  'config list': [[]],
  'config get': [['timeout']],
  'config set': [['timeout', '5']],
  'config unset': [['timeout']],
  'config path': [[]],
  'config schema': [[]],
  doctor: [[]],
  schema: [['events']],
  completion: [['bash']],
  help: [['image']],
}

/** What they forbid, these commands never do. */
const forbidding: Readonly<Record<string, readonly string[]>> = {
  'response status': ['input', 'stdin'],
  'response wait': ['input', 'stdin'],
  'response cancel': ['input', 'stdin'],
  'response list': ['input', 'stdin'],
  'video status': ['input', 'stdin'],
  'video wait': ['input', 'stdin'],
  'video list': ['input', 'stdin'],
  wait: ['input', 'stdin'],
  jobs: ['input', 'stdin'],
  run: ['stdin'],
}

/** Every command of the program that does something itself, by the words that call it. */
function leaves(command: Command, words = ''): [words: string, command: Command][] {
  const below = command.commands.flatMap((child) => leaves(child, `${words} ${child.name()}`.trim()))
  const isGroup = below.length > 0 && (words === '' || command.options.length === 0)
  return isGroup ? below : [[words, command], ...below]
}

/** The flags that the help of a command shows, by the names that the parser keeps them under. */
function shownFlags(command: Command): string[] {
  const help = Object.assign(new Help(), command.configureHelp())
  const shown: Option[] = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
  const names = shown.map((option) => option.attributeName())
  return [...new Set(names)].filter((name) => name !== 'help' && name !== 'version')
}

/** Runs a command, and gives the names of the flags that it looked at. */
async function flagsRead(
  program: Command,
  argv: readonly string[],
  clock: FakeClock = fakeClock(),
): Promise<Set<string>> {
  const read = new Set<string>()
  const recording = (options: object) =>
    new Proxy(options, {
      get(target, name, self) {
        read.add(String(name))
        return Reflect.get(target, name, self) as unknown
      },
    })
  const own = Command.prototype.opts
  vi.spyOn(Command.prototype, 'opts').mockImplementation(function (this: Command) {
    return recording(own.call(this))
  })
  // As the parser does it, but without looking at the flags itself.
  vi.spyOn(Command.prototype, 'optsWithGlobals').mockImplementation(function (this: Command) {
    return recording({ ...own.call(this), ...own.call(this.parent!), ...own.call(program) })
  })
  await toEnd(program.parseAsync([...argv], { from: 'user' }), clock)
  vi.restoreAllMocks()
  return read
}

/** Lets time go by until a call has ended, however; time stands still while files are read and written. */
async function toEnd(run: Promise<unknown>, clock: FakeClock): Promise<void> {
  let hasEnded = false
  void run.catch(() => {}).finally(() => (hasEnded = true))
  const isBusy = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))
  while (!hasEnded) await clock.advance(isBusy() ? 0 : 20)
}

/** Commands that take no `--sandbox`; those of groups that never send anything, too. */
const local = new Set(['init', 'sandbox', 'inspect', 'usage', 'schema', 'completion', 'help'])
const isLocal = (words: string) => local.has(words) || /^(?:config|auth|log|run init)\b/.test(words)

async function ignoredBy(words: string): Promise<string[]> {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': await maskPng(64) })
  const env = {
    MODELGATE_STATE_DIR: temporaryFolder(),
    MODELGATE_CONFIG_DIR: temporaryFolder(),
    SHELL: 'bash',
  }
  // So that there is a job to look up.
  if (words === 'video list' || words === 'jobs') {
    const context = testContext({ cwd, env })
    await toEnd(main(['video', 'generate', '--sandbox', 'A hill'], context), context.clock)
  }
  const startsResponse = words.startsWith('response ') || words === 'wait'
  if (startsResponse) {
    const context = testContext({ cwd, env })
    await toEnd(main(['respond', '--background', '--sandbox', 'Hi'], context), context.clock)
  }
  const read = new Set<string>()
  let shown: string[] = []
  for (const call of calls[words]!) {
    const terminal = questionTerminal()
    terminal.hangUp()
    const context = testContext({ cwd, env, ...(words === 'chat' && terminal.overrides) })
    const program = createProgram(context)
    const sends = !isLocal(words)
    const job = startsResponse && words.startsWith('response ') && words !== 'response list' ? ['--last'] : []
    const argv = [...words.split(' '), ...call, ...job, ...(sends ? ['--sandbox'] : [])]
    for (const name of await flagsRead(program, argv, context.clock)) read.add(name)
    const command = leaves(program).find(([name]) => name === words)![1]
    shown = shownFlags(command)
  }
  return shown.filter((name) => !read.has(name) && !forbidding[words]?.includes(name))
}

test('every command is among the calls', async () => {
  const context = testContext()
  const program = createProgram(context)
  for (const command of program.commands) await loadCommand(command, context)
  expect(leaves(program).map(([words]) => words)).toEqual(Object.keys(calls))
})

test.each(Object.keys(calls))('%s obeys each flag that its help shows', async (words) => {
  expect(await ignoredBy(words)).toEqual([])
})

test('a command that ignores --json is found', async () => {
  const program = new Command('modelgate')
  addCommonOptions(program)
  program.command('trial').action((_: unknown, self: Command) => void self.opts()['quiet'])
  const read = await flagsRead(program, ['trial', '--json'])
  expect([read.has('quiet'), read.has('json')]).toEqual([true, false])
})
