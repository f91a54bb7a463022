import { countTokens } from '../answer/answer.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import { fitContext } from './context-tokens.ts'
import { readContext, type ResponseService } from './create-response.ts'
import { itemsWithIds } from './input-items.ts'
import { opaque } from './output-item.ts'

/**
 * `POST /v1/responses/input_tokens`: how many tokens a request would read.
 * @throws RequestProblem 400, 404
 */
export async function countInputTokens(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { items } = await readContext(request, service)
  const { tokens } = fitContext(items, { ...request.body, truncation: 'disabled' }, Infinity)
  return jsonReply({ object: 'response.input_tokens', input_tokens: tokens })
}

/**
 * `POST /v1/responses/compact`: what the user said, and one item that stands for everything else. Both can be the
 * beginning of the input of a response.
 * @throws RequestProblem 400, 404
 */
export async function compactContext(request: SandboxRequest, service: ResponseService): Promise<Reply> {
  const { items, model } = await readContext(request, service)
  const { tokens } = fitContext(items, request.body, model.contextWindow)
  const id = `resp_${seededHex(48, service.seed, 'compact', request.number)}`
  const said = items.filter(({ role }) => role === 'user')
  const messages = itemsWithIds(said, id, ['message.input_image.image_url'])
  const encrypted_content = opaque(`compaction ${id}`)
  const output = countTokens(encrypted_content)
  return jsonReply(
    {
      id,
      object: 'response.compaction',
      created_at: Math.floor(service.clock.now() / 1000),
      output: [
        ...messages.map((message) => ({ status: 'completed', ...message })),
        { id: `cmp_${seededHex(48, id)}`, type: 'compaction', encrypted_content },
      ],
      usage: {
        input_tokens: tokens,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: tokens + output,
      },
    },
    { creates: true, pause: 'first' },
  )
}
