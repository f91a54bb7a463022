import { registerImageCreate, registerImageEdit, type ImageOptions } from '../../src/commands/image.ts'
import type { CommandCall } from '../../src/commands/shared/gateway/open-gateway.ts'
import type { ImageRequest } from '../../src/operations/image-request.ts'
import type { Settings } from '../../src/config/settings.ts'
import { parsedCall, refusalBy, type Refusal } from './parsed-call.ts'
import { testContext, type TestOverrides } from './test-context.ts'

export type ImageCommandName = 'create' | 'edit'

/** What a command would have sent. */
interface ImageCall {
  readonly request: ImageRequest
  readonly options: ImageOptions
  readonly settings: Settings
}

/** A gateway and no model, for calls that are about something else. */
export const gatewayOnly = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080' }

/** Parses all words of a call of `image create` or `image edit`. Throws what the command throws. */
export function imageCall(argv: readonly string[], overrides: TestOverrides = {}): Promise<ImageCall> {
  const context = testContext({ env: gatewayOnly, ...overrides })
  return parsedCall<ImageCall>(argv, (program, send) => {
    const perform = async ({ options, settings }: CommandCall<ImageOptions>, request: ImageRequest) =>
      send({ request, options, settings })
    registerImageCreate(program.command('create'), context, perform)
    registerImageEdit(program.command('edit'), context, perform)
  })
}

/** What a call is refused with. Throws when it would have been sent. */
export function imageRefusal(argv: readonly string[], overrides: TestOverrides = {}): Promise<Refusal> {
  return refusalBy(imageCall(argv, overrides))
}
