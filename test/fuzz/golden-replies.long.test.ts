import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { createMessageReader } from '../../src/gateway/events/message-reader.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import { generate, respond, runningSandbox } from '../support/running-sandbox.ts'

/** How a reply ends that comes in one piece: `ok`, or the code of the error, and the text up to there. */
function read(
  create: typeof createResponseDecoder,
  bytes: Uint8Array,
): { readonly end: string; readonly text: string } {
  let text = ''
  const decoder = create({
    emit: (event) => void (event.type === 'text-delta' && (text += event.text)),
    keepResponse: true,
    keepText: true,
  })
  const reader = createMessageReader({ onMessage: (value) => decoder.message(value) })
  try {
    reader.push(bytes)
    reader.end()
    return { end: decoder.verdict(reader.done)?.code ?? 'ok', text }
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    return { end: error.code, text }
  }
}

const goldens = [
  ['a response', createResponseDecoder, async (url: Sandbox) => respond(url, 'Hi', { stream: true })],
  ['generated content', createContentDecoder, async (url: Sandbox) => generate(url, 'Hi')],
] as const
type Sandbox = Awaited<ReturnType<typeof runningSandbox>>

test.for(goldens)(
  '%s that is cut at any byte is whole only with its last message',
  { timeout: 120_000 },
  async ([, create, ask]) => {
    const { text } = await ask(await runningSandbox())
    const bytes = Buffer.from(text)
    const whole = read(create, bytes)
    expect([whole.end, bytes.length > 1_000]).toEqual(['ok', true])
    const last = bytes.lastIndexOf('}') + 1
    const wrong: number[] = []
    for (let cut = 0; cut < bytes.length; cut++) {
      const { end, text: part } = read(create, bytes.subarray(0, cut))
      if ((end === 'ok') !== cut >= last || !whole.text.startsWith(part)) wrong.push(cut)
    }
    expect(wrong).toEqual([])
  },
)

test.for(goldens)(
  '%s of which any bit is flipped is read, or refused with an error of the program',
  { timeout: 120_000 },
  async ([, create, ask]) => {
    const { text } = await ask(await runningSandbox())
    const bytes = Buffer.from(text).subarray(0, 1_500)
    const before = Reflect.ownKeys(Object.prototype).length
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      expect(read(create, flipped).end).toMatch(/^[a-z0-9_]+$/)
    }
    expect(Reflect.ownKeys(Object.prototype).length).toBe(before)
  },
)
