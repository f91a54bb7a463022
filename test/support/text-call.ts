import type { Settings } from '../../src/config/settings.ts'
import { registerGenerate } from '../../src/commands/generate.ts'
import { registerRespond } from '../../src/commands/respond.ts'
import type { CommandCall } from '../../src/commands/shared/gateway/open-gateway.ts'
import type { CommonOptions } from '../../src/commands/shared/options/common-options.ts'
import type { TextRequest } from '../../src/operations/generate-text.ts'
import { separateContinue } from '../../src/program.ts'
import { parsedCall, refusalBy, type Refusal } from './parsed-call.ts'
import { testContext, type TestOverrides } from './test-context.ts'

export type TextCommand = 'generate' | 'respond'

/** What a command would have sent. */
interface TextCall {
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
export function wholeCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<TextCall> {
  const context = testContext({ env: configured, ...overrides })
  return parsedCall<TextCall>(separateContinue(argv), (program, send) => {
    const perform = async ({ options, settings }: CommandCall<CommonOptions>, request: TextRequest) =>
      send({ request, options, settings })
    registerGenerate(program.command('generate'), context, perform)
    registerRespond(program.command('respond'), context, perform)
  })
}

/** The body that a call would send. */
export async function bodyOf(...call: Parameters<typeof textCall>): Promise<Record<string, unknown>> {
  return (await textCall(...call)).request.body
}

/** What a call is refused with: exit code, lines of the message, hint. Throws when it would have been sent. */
export function refusalOf(...call: Parameters<typeof textCall>): Promise<Refusal> {
  return refusalBy(textCall(...call))
}
