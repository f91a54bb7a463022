import { Command } from 'commander'
import { registerImageCreate, registerImageEdit, type ImageOptions } from '../../src/commands/image.ts'
import type { ImageRequest } from '../../src/operations/image-request.ts'
import type { Settings } from '../../src/config/settings.ts'
import { asModelgateError, ModelgateError } from '../../src/errors.ts'
import { testContext, type TestOverrides } from './test-context.ts'

export type ImageCommandName = 'create' | 'edit'

/** What a command would have sent. */
export interface ImageCall {
  readonly request: ImageRequest
  readonly options: ImageOptions
  readonly settings: Settings
}

/** What a call is refused with. */
export interface ImageRefusal {
  readonly exit: number
  readonly code: string
  readonly lines: readonly string[]
  readonly hint: string | undefined
}

/** A gateway and no model, for calls that are about something else. */
export const gatewayOnly = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080' }

/** Parses all words of a call of `image create` or `image edit`. Throws what the command throws. */
export async function imageCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<ImageCall> {
  const context = testContext({ env: gatewayOnly, ...overrides })
  const calls: ImageCall[] = []
  const send = async (
    _: unknown,
    options: ImageOptions,
    settings: Settings,
    request: ImageRequest,
  ): Promise<void> => {
    calls.push({ request, options, settings })
  }
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  program.enablePositionalOptions()
  registerImageCreate(program.command('create'), context, send)
  registerImageEdit(program.command('edit'), context, send)
  await program.parseAsync([...argv], { from: 'user' })
  if (calls.length !== 1) throw new Error(`The command sent ${calls.length} requests.`)
  return calls[0]!
}

/** What a call is refused with. Throws when it would have been sent. */
export async function imageRefusal(
  argv: readonly string[],
  overrides: TestOverrides = {},
): Promise<ImageRefusal> {
  const outcome = await imageCall(argv, overrides).catch((error: unknown) => error)
  if (!(outcome instanceof Error)) throw new Error('The request would have been sent.')
  if (!(outcome instanceof ModelgateError)) throw outcome
  const { exitCode, code, message, facts } = asModelgateError(outcome, false)
  return { exit: exitCode, code, lines: message.split('\n'), hint: facts.hint }
}
