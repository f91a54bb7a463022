import { expect } from 'vitest'
import { readReply } from './read-reply.ts'
import { corpora, type Corpus } from './replies.ts'

/** Ways to cut some bytes into pieces. */
export type Cuttings = (bytes: Buffer) => Iterable<readonly Uint8Array[]>

/** Line endings do not matter: every stream is tried with CRLF and CR as well. */
export const splitReplies = corpora.flatMap((corpus) => {
  const text = corpus.bytes.toString('latin1')
  if (!text.includes('data:') || text.startsWith('{') || text.includes('\r')) return [corpus]
  const withEnding = (ending: string): Corpus => ({
    ...corpus,
    name: `${corpus.name}, with ${JSON.stringify(ending)}`,
    bytes: Buffer.from(text.replaceAll('\n', ending), 'latin1'),
  })
  return [corpus, withEnding('\r\n'), withEnding('\r')]
})

/** The pieces from which another reply is read than from the whole one. */
export async function misreadPieces(
  { bytes, expected }: Corpus,
  cuttings: Cuttings,
): Promise<readonly string[]> {
  const whole = await readReply([bytes])
  expect(whole).toMatchObject(expected)
  const wanted = JSON.stringify(whole)
  const different: string[] = []
  for (const pieces of cuttings(bytes)) {
    if (JSON.stringify(await readReply(pieces)) !== wanted) different.push(pieces.map(String).join(' | '))
  }
  return different
}
