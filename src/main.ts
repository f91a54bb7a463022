import { systemContext, type Context } from './context.ts'
import { AlreadyReported, FileError, OutputClosed, asModelgateError, exitCodes } from './errors.ts'
import { runProgram } from './program.ts'

/** For the launcher, which loads only this module. @public */
export { systemContext }

/**
 * Runs one command and resolves with the exit code of the process. Every failure ends here:
 * commands throw, and each error knows its code.
 */
export async function main(argv: readonly string[], context: Context): Promise<number> {
  try {
    if (context.stdout.isClosed) throw closedOutput()
    await runProgram(argv, context)
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
    await reportError(context, known, {
      json: argv.includes('--jsonl') ? 'jsonl' : argv.includes('--json') ? 'json' : undefined,
      quiet: argv.includes('--quiet') || argv.includes('-q'),
    })
    return known.exitCode
  } finally {
    context.stdin.release()
  }
}

function closedOutput(): FileError {
  return new FileError('stdout_closed', 'Standard output is closed: the result would be lost.', {
    hint: 'To discard it, write >/dev/null.',
  })
}
