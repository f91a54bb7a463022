import { Command } from 'commander'
import type { Settings } from '../../src/config/settings.ts'
import { registerGenerate } from '../../src/commands/generate.ts'
import { registerRespond } from '../../src/commands/respond.ts'
import type { CommonOptions } from '../../src/commands/shared/options/common-options.ts'
import type { TextRequest } from '../../src/operations/generate-text.ts'
import { asModelgateError, ModelgateError } from '../../src/errors.ts'
import { separateContinue } from '../../src/program.ts'
import { testContext, type TestOverrides } from './test-context.ts'

export type TextCommand = 'generate' | 'respond'

/** What a command would have sent. */
export interface TextCall {
  readonly request: TextRequest
  readonly options: CommonOptions
  readonly settings: Settings
}

/** A configured gateway and model, for calls that are about something else. */
export const configured = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_TEXT_MODEL: 'm' }

/** Parses a call, and hands over what it would send. Throws what the command throws. */
export function textCall(
  command: TextCommand,
  argv: readonly string[],
  overrides: TestOverrides = {},
): Promise<TextCall> {
  return wholeCall([command, ...argv], overrides)
}

/** The same for all words of a call, the command's name among them. */
export async function wholeCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<TextCall> {
  const context = testContext({ env: configured, ...overrides })
  const calls: TextCall[] = []
  const send = async (_: unknown, options: CommonOptions, settings: Settings, request: TextRequest) => {
    calls.push({ request, options, settings })
  }
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  program.enablePositionalOptions()
  registerGenerate(program.command('generate'), context, send)
  registerRespond(program.command('respond'), context, send)
  await program.parseAsync(separateContinue(argv), { from: 'user' })
  if (calls.length !== 1) throw new Error(`The command sent ${calls.length} requests.`)
  return calls[0]!
}

/** The body that a call would send. */
export async function bodyOf(
  command: TextCommand,
  argv: readonly string[],
  overrides: TestOverrides = {},
): Promise<Record<string, unknown>> {
  return (await textCall(command, argv, overrides)).request.body
}

/** What a call is refused with: exit code, lines of the message, hint. Throws when it would have been sent. */
export async function refusalOf(
  command: TextCommand,
  argv: readonly string[],
  overrides: TestOverrides = {},
): Promise<{ exit: number; code: string; lines: string[]; hint: string | undefined }> {
  const outcome = await textCall(command, argv, overrides).catch((error: unknown) => error)
  if (!(outcome instanceof Error)) throw new Error('The request would have been sent.')
  if (!(outcome instanceof ModelgateError)) throw outcome
  const { exitCode, code, message, facts } = asModelgateError(outcome, false)
  return { exit: exitCode, code, lines: message.split('\n'), hint: facts.hint }
}
