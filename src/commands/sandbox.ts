import type { Command } from 'commander'
import { sandboxFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import type { LatencyProfile } from '../sandbox/sandbox.ts'
import { readFaults } from './sandbox/faults.ts'
import { parseLatency, parsePort, parseSeed } from './sandbox/settings.ts'
import { addExamples, type Example } from './shared/examples.ts'
import { createProblemList } from './shared/problem-list.ts'

interface SandboxFlags {
  port?: string
  faults?: string
  latency?: string
  seed?: string
  quiet?: true
}

export interface SandboxSettings {
  readonly port: number
  readonly seed: number
  readonly latency: LatencyProfile
  /** YAML or JSON file with fault rules. */
  readonly faults: string | undefined
  /** No hint and no request log on standard error. */
  readonly isQuiet: boolean
}

const examples: readonly Example[] = [
  ['modelgate sandbox', 'at any free port, until Ctrl-C'],
  ['modelgate sandbox --port 8080', 'at a fixed port'],
  ['modelgate sandbox --faults faults.yaml', 'with faults, to test a script'],
]

const faultFile = `
A fault file lists rules (YAML or JSON):
  - { id: cut, action: reset,
      at: mid-event, probability: 0.1 }
  - { id: busy, endpoint: responses,
      attempt: 1, action: status,
      status: 429,
      headers: { retry-after: 1 } }`

/** `modelgate sandbox`: the local gateway as a server, until a signal ends it. */
export function registerSandbox(command: Command, context: Context, run = runSandbox): void {
  addExamples(command, context, examples)
  command
    .option('--port <number>', 'port on 127.0.0.1 (any free one)')
    .option('--faults <file>', 'fault rules: a YAML or JSON file')
    .option('--latency <profile>', 'none, natural, or milliseconds between events (natural)')
    .option('--seed <number>', 'makes answers, ids and chances repeatable (1)')
    .addHelpText('after', faultFile)
    .action(async (_: unknown, self: Command) => {
      const flags: SandboxFlags = self.optsWithGlobals()
      const problems = createProblemList()
      const port = await problems.step(() => parsePort(flags.port))
      const seed = await problems.step(() => parseSeed(flags.seed))
      const latency = await problems.step(() => parseLatency(flags.latency))
      problems.throwAny()
      await run(context, {
        port: port ?? 0,
        seed: seed ?? 1,
        latency: latency ?? 'natural',
        faults: flags.faults,
        isQuiet: flags.quiet === true,
      })
    })
}

/**
 * Serves until the context's signal is aborted. Standard output gets the base URL, standard error the requests.
 * @throws UsageError, FileError for settings that cannot be used; in the end always the reason of the signal
 */
export async function runSandbox(context: Context, settings: SandboxSettings): Promise<never> {
  const { stdout, stderr, signal, clock } = context
  const faults = settings.faults === undefined ? [] : await readFaults(context, settings.faults)
  const { startSandbox } = await import('../sandbox/sandbox.ts')
  const tell = (line: string) => {
    if (!settings.isQuiet) stderr.write(`${line}\n`)
  }
  const { port, seed, latency } = settings
  const folder = sandboxFolder(context)
  const sandbox = await startSandbox({ port, seed, latency, faults, folder, clock, onRequest: tell })
  try {
    stdout.write(`${sandbox.url}\n`)
    await stdout.drain()
    tell(`Use it in another shell: export MODELGATE_BASE_URL=${sandbox.url} MODELGATE_API_KEY=sandbox-key`)
    tell('Any key but "invalid" is accepted. Ctrl-C stops the sandbox.')
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    throw signal.reason
  } finally {
    await sandbox.close()
  }
}
