import { Command } from 'commander'
import { asModelgateError, ModelgateError } from '../../src/errors.ts'

/** Parses all words of a call by commands that hand over what they would send. Throws what the command throws. */
export async function parsedCall<Call>(
  argv: readonly string[],
  register: (program: Command, send: (call: Call) => void) => void,
): Promise<Call> {
  const calls: Call[] = []
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  program.enablePositionalOptions()
  register(program, (call) => calls.push(call))
  await program.parseAsync([...argv], { from: 'user' })
  if (calls.length !== 1) throw new Error(`The command sent ${calls.length} requests.`)
  return calls[0]!
}

/** What a call is refused with. */
export interface Refusal {
  readonly exit: number
  readonly code: string
  readonly lines: string[]
  readonly hint: string | undefined
}

/** What a call is refused with. Throws when it would have been sent. */
export async function refusalBy(call: Promise<unknown>): Promise<Refusal> {
  const outcome = await call.catch((error: unknown) => error)
  if (!(outcome instanceof Error)) throw new Error('The request would have been sent.')
  if (!(outcome instanceof ModelgateError)) throw outcome
  const { exitCode, code, message, facts } = asModelgateError(outcome, false)
  return { exit: exitCode, code, lines: message.split('\n'), hint: facts.hint }
}
