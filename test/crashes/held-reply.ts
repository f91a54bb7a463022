import { textStyles } from '../program/text-styles.ts'
import * as reply from '../support/server-replies.ts'

const { delta, end } = textStyles.generate

/** A stream that stops after its first words, until it is told to go on as given. */
export function heldReply(held: Promise<unknown>, rest: readonly reply.Step[]): reply.ServerReply {
  const [readAll, head] = reply.sse([])
  return [readAll!, head!, reply.write(reply.chunk(delta('Hello, '))), reply.hold(held), ...rest]
}

export const restOfStream = [
  reply.write(reply.chunk(delta('you.') + end)),
  reply.write('0\r\n\r\n'),
  reply.end,
]
