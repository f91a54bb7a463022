import { homedir } from 'node:os'
import { complete } from '../src/commands/completion/complete.ts'

/** Answers the completion scripts, which ask `modelgate __complete SHELL WORD…` while TAB waits: the entry of a bundle. */
export async function answerShell(): Promise<void> {
  const { argv, env, platform, stdout } = process
  const home = homedir()
  stdout.on('error', () => {})
  const place = { env, platform, home, cwd: workingDirectory() ?? home, now: Date.now() }
  stdout.write(await complete(argv.slice(3), place))
}

/** Undefined when it has been removed. */
function workingDirectory(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}
