import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import { OutputClosed } from '../../errors.ts'
import type { RunCommand } from '../shared/options/command-tools.ts'
import { runCommand, type Say } from './session.ts'

interface Stop {
  readonly about: string
  readonly argv: readonly string[]
}

const stops: readonly Stop[] = [
  {
    about: 'Words come as the model writes them. Here the sandbox stands in for it, on this machine.',
    argv: ['generate', '--sandbox', 'What is a gateway? Answer in Markdown'],
  },
  {
    about: 'A picture becomes a file that has been checked, and is shown.',
    argv: ['image', 'create', '--sandbox', '-o', 'boat.png', 'A paper boat on a lake'],
  },
  {
    about: 'A video takes a while; the bar follows it to the finished file.',
    argv: ['video', 'generate', '--sandbox', '--wait', '-o', 'boat.mp4', 'A paper boat on a lake'],
  },
]

/**
 * Shows in half a minute what the program does, by its own commands against the sandbox, in a temporary folder that is
 * removed. On a terminal Ctrl-C skips the rest.
 * @throws the signal's reason
 */
export async function showTour(context: Context, run: RunCommand, say: Say): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'modelgate-tour-'))
  const skipping = listenForSkip(context)
  const tour: Context = {
    ...context,
    // Standard output belongs to the report of `init`.
    stdout: context.stderr,
    cwd: folder,
    env: environment(context, folder),
    signal: AbortSignal.any([context.signal, skipping.signal]),
  }
  try {
    for (const { about, argv } of stops) {
      await say('')
      await say(about, 'dim')
      await say(`$ modelgate ${argv.map(quoted).join(' ')}`, 'accent')
      await runCommand(run, argv, tour)
      if (context.signal.aborted) throw context.signal.reason
      if (skipping.signal.aborted) break
    }
    await say('')
    await say(
      skipping.signal.aborted ? 'Skipped.' : 'That was the sandbox: nothing was sent, nothing is left.',
      'dim',
    )
    await say('')
  } finally {
    skipping.end()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Nothing that is configured plays a part, and what the commands keep goes with the folder. */
function environment({ env }: Context, folder: string): Context['env'] {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('MODELGATE_'))
  return {
    ...Object.fromEntries(others),
    MODELGATE_CONFIG_DIR: join(folder, '.config'),
    MODELGATE_STATE_DIR: join(folder, '.state'),
    MODELGATE_NO_STDIN: '1',
  }
}

/** As a key, so that the process does not take Ctrl-C for its own end. */
function listenForSkip({ stdin }: Context): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  const keys = stdin.kind === 'terminal' ? stdin.stream : undefined
  const onKeys = (bytes: Buffer) => {
    // As if nobody read any more: the command ends without a word.
    if (bytes.includes(3)) controller.abort(new OutputClosed())
  }
  keys?.setRawMode?.(true)
  keys?.on('data', onKeys)
  // A question leaves the stream paused.
  keys?.resume()
  return {
    signal: controller.signal,
    end() {
      keys?.off('data', onKeys)
      keys?.setRawMode?.(false)
      keys?.pause()
    },
  }
}

const quoted = (word: string) => (word.includes(' ') ? `"${word}"` : word)
