import { systemContext, type Context } from './context.ts'
import { AlreadyReported, FileError, OutputClosed, asModelgateError, exitCodes } from './errors.ts'
import { formatPage, writeHelp, type HelpPage } from './output/help-page.ts'

/** For the launcher, which loads only this module. @public */
export { systemContext }

/** Runs one command and resolves with the exit code of the process. Every failure ends here. */
export async function main(argv: readonly string[], context: Context): Promise<number> {
  try {
    if (context.stdout.isClosed) {
      const hint = 'To discard it, write >/dev/null.'
      throw new FileError('write_failed', 'Standard output is closed: the result would be lost.', { hint })
    }
    const help = helpPage(argv)
    if (help === undefined) await (await import('./program.ts')).runProgram(argv, context)
    else writeHelp(context, formatPage(help, context.stdout.columns))
    await context.stdout.drain()
    return exitCodes.ok.code
  } catch (error) {
    if (error instanceof AlreadyReported) return error.exitCode
    if (error instanceof OutputClosed) return error.exitCode
    const failure = asModelgateError(error, argv.includes('--debug'))
    // A command that has sent a request reports its own failures, including whether they may be billed.
    const isUnsent = failure.exit === 'io' || failure.exit === 'bug'
    const known = isUnsent ? failure.amend({ billed: 'no', ...failure.facts }) : failure
    const { reportError } = await import('./output/create-output.ts')
    const { commandNamed } = await import('./program.ts')
    await reportError(context, known, {
      command: commandNamed(argv),
      json: argv.includes('--jsonl') ? 'jsonl' : argv.includes('--json') ? 'json' : undefined,
      quiet: argv.includes('--quiet') || argv.includes('-q'),
    })
    return known.exitCode
  } finally {
    context.stdin.release()
  }
}

/** What `modelgate --help` says, where the build has put it: making the whole tree of commands would take longer. */
function helpPage([word, ...others]: readonly string[]): HelpPage | undefined {
  const isHelp = (word === '--help' || word === '-h') && others.length === 0
  if (!isHelp || typeof __HELP_PAGE__ === 'undefined') return undefined
  return JSON.parse(__HELP_PAGE__) as HelpPage
}
