import { type VideoOptions, registerVideoGenerate, registerVideoRemix } from '../../src/commands/video.ts'
import type { VideoRequest } from '../../src/operations/video-request.ts'
import { gatewayOnly } from './image-call.ts'
import { parsedCall, refusalBy, type Refusal } from './parsed-call.ts'
import { testContext, type TestOverrides } from './test-context.ts'

/** What a command would have sent. */
interface VideoCall {
  readonly request: VideoRequest
  readonly options: VideoOptions
  /** The video to remix, as it was named. */
  readonly source: string | undefined
}

/** Parses all words of a call of `video generate` or `video remix`. Throws what the command throws. */
export function videoCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<VideoCall> {
  const context = testContext({ env: gatewayOnly, ...overrides })
  return parsedCall<VideoCall>(argv, (program, send) => {
    registerVideoGenerate(program.command('generate'), context, async ({ call, request }) => {
      send({ request, options: call.options, source: undefined })
    })
    registerVideoRemix(program.command('remix'), context, async ({ call, request }, source) => {
      send({ request, options: call.options, source: (await source?.catch(() => undefined))?.named.id })
    })
  })
}

/** What a call is refused with. Throws when it would have been sent. */
export async function videoRefusal(...call: Parameters<typeof videoCall>): Promise<Omit<Refusal, 'hint'>> {
  const { hint: _, ...refusal } = await refusalBy(videoCall(...call))
  return refusal
}
