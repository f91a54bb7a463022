import type { Context } from '../context.ts'
import { sanitise, type Gate } from './gate.ts'
import { createResultOutput, type Output, type RendererParts } from './output.ts'
import { RescueSink, type RescuePlace } from './rescue-sink.ts'

/** `--raw`: the gateway's own JSON without secrets, unchanged but for control characters on a terminal. */
export function createRawOutput(parts: RendererParts): Output {
  const { screen, gate, context } = parts
  const documents = gate.documents()
  let pending = ''
  const add = (texts: readonly string[]) => void (pending += texts.join(''))
  const write = () => {
    screen.text(context.stdout.isTerminal ? sanitise(pending) : pending)
    pending = ''
  }
  const finish = async () => {
    add(documents.end())
    write()
  }
  return createResultOutput(parts, {
    before: write,
    raw: (text) => add(documents.push(text.endsWith('\n') ? text : `${text}\n`)),
    flush: async () => write(),
    end: finish,
    error: finish,
  })
}

export function createReplyWriter(context: Context, gate: Gate, rescue: RescuePlace) {
  const sink = new RescueSink(context, rescue)
  const stream = gate.reply()
  /** Nothing needs no line feed at its end. */
  let endsLine = true
  let isClosed = false

  const put = async (piece: Uint8Array | string) => {
    sink.write(piece)
    await sink.drain().catch((error: unknown) => {
      isClosed = true
      throw error
    })
  }
  return {
    async write(chunk: Uint8Array): Promise<void> {
      endsLine = chunk.at(-1) === '\n'.charCodeAt(0)
      await put(stream.push(chunk))
    },
    async commit(): Promise<void> {
      if (isClosed) return
      await put(stream.end())
      if (!endsLine) await put('\n')
      const rescued = await sink.end()
      if (rescued !== undefined) throw rescued
    },
  }
}
