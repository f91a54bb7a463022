import { Command } from 'commander'
import {
  type VideoOptions,
  type VideoStart,
  registerVideoGenerate,
  registerVideoRemix,
} from '../../src/commands/video.ts'
import { asModelgateError, ModelgateError } from '../../src/errors.ts'
import type { VideoRequest } from '../../src/operations/video-request.ts'
import { gatewayOnly } from './image-call.ts'
import { testContext, type TestOverrides } from './test-context.ts'

/** What a command would have sent. */
export interface VideoCall {
  readonly request: VideoRequest
  readonly options: VideoOptions
  /** The video to remix, as it was named. */
  readonly source: string | undefined
}

/** What a call is refused with. */
export interface VideoRefusal {
  readonly exit: number
  readonly code: string
  readonly lines: readonly string[]
}

/** Parses all words of a call of `video generate` or `video remix`. Throws what the command throws. */
export async function videoCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<VideoCall> {
  const context = testContext({ env: gatewayOnly, ...overrides })
  const calls: VideoCall[] = []
  const send = async (
    _: unknown,
    options: VideoOptions,
    { request }: VideoStart,
    source?: string,
  ): Promise<void> => {
    calls.push({ request, options, source })
  }
  const program = new Command('modelgate').exitOverride().configureOutput({ outputError: () => {} })
  program.enablePositionalOptions()
  registerVideoGenerate(program.command('generate'), context, send)
  registerVideoRemix(program.command('remix'), context, send)
  await program.parseAsync([...argv], { from: 'user' })
  if (calls.length !== 1) throw new Error(`The command sent ${calls.length} requests.`)
  return calls[0]!
}

/** What a call is refused with. Throws when it would have been sent. */
export async function videoRefusal(
  argv: readonly string[],
  overrides: TestOverrides = {},
): Promise<VideoRefusal> {
  const outcome = await videoCall(argv, overrides).catch((error: unknown) => error)
  if (!(outcome instanceof Error)) throw new Error('The request would have been sent.')
  if (!(outcome instanceof ModelgateError)) throw outcome
  const { exitCode, code, message } = asModelgateError(outcome, false)
  return { exit: exitCode, code, lines: message.split('\n') }
}
