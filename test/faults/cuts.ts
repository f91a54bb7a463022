import { expect, test } from 'vitest'
import {
  chunk,
  end,
  head,
  readAll,
  reset,
  write,
  type ServerReply,
  type Step,
} from '../support/server-replies.ts'
import { calls, isReport, type Call } from './calls.ts'
import type { Exchange, WholeReply } from './exchanges.ts'
import { performCall, type CallEnd } from './perform-call.ts'
import { exitOf } from './row.ts'

/** How the end of a body is known (RFC 9112, section 6.3). */
const framings = ['length', 'chunked', 'close-delimited'] as const
type Framing = (typeof framings)[number]

const endings: Readonly<Record<'FIN' | 'RST', Step>> = { FIN: end, RST: reset }

/** All bytes of a reply: its head, and its body as it is framed. */
function wireOf({ type, pieces }: WholeReply, framing: Framing): readonly [head: Buffer, body: Buffer] {
  const body = Buffer.concat(pieces)
  const chunks = Buffer.concat([...pieces.map(chunk), Buffer.from('0\r\n\r\n')])
  const headers = {
    length: { 'content-length': String(body.length) },
    chunked: { 'transfer-encoding': 'chunked' },
    'close-delimited': {},
  }
  const start = Buffer.from(head(200, { 'content-type': type, ...headers[framing] }))
  return [start, framing === 'chunked' ? chunks : body]
}

/**
 * Cuts the reply of every exchange of every call behind bytes of its body, in each framing, and of its head.
 * @param choose of the places of a series, which has a name, those that are tried
 */
export function testCuts(
  ending: keyof typeof endings,
  choose: (places: readonly number[], series: string) => readonly number[],
): void {
  const told = calls.filter((call) => !isReport(call))
  const series = told.flatMap((call) =>
    call.exchanges.flatMap((exchange) =>
      framings.map((framing) => {
        const name = `${call.name}, ${exchange.role}, ${framing}`
        return [name, { call, exchange, framing }] as const
      }),
    ),
  )
  test.each(series)(`${ending}: %s`, { timeout: 600_000 }, async (name, { call, exchange, framing }) => {
    const [start, body] = wireOf(exchange.reply, framing)
    const wire = Buffer.concat([start, body])
    // A head ends in the same way whatever follows it.
    const first = framing === 'length' ? 0 : start.length
    const places = Array.from({ length: wire.length + 1 - first }, (_, at) => first + at)
    const problems: string[] = []
    for (const cut of choose(places, `${ending}, ${name}`)) {
      const reply: ServerReply = [readAll, write(wire.subarray(0, cut)), endings[ending]]
      const seen = await performCall({ call, exchange, replies: [reply] })
      const isEmpty = framing === 'close-delimited' && cut === start.length
      const problem = problemOf(call, exchange, seen, { isWhole: cut === wire.length, isEmpty })
      if (problem !== undefined)
        problems.push(`${cut} of ${wire.length}: ${problem}: ${seen.stdout}${seen.stderr}`)
    }
    expect(problems).toEqual([])
  })
}

/**
 * What is wrong about the end of a call whose reply was cut; undefined when nothing is.
 * @param isEmpty whether the body is whole by its framing, and has nothing in it (fault C2)
 */
function problemOf(
  call: Call,
  { role }: Exchange,
  { exit, stdout, files, attempts }: CallEnd,
  { isWhole, isEmpty }: { readonly isWhole: boolean; readonly isEmpty: boolean },
): string | undefined {
  const isPaid = role === 'text' || role === 'creation'
  if (isPaid && attempts !== 1) return `${attempts} requests`
  const names = Object.keys(files)
  const isIntact = (name: string) =>
    Buffer.compare(files[name]!, call.leaves.files[name] ?? Buffer.alloc(0)) === 0
  const isAll =
    stdout === call.leaves.stdout &&
    names.join() === Object.keys(call.leaves.files).join() &&
    names.every(isIntact)
  if (exit === 0 && call.how !== 'chat') return isAll ? undefined : 'exit 0, and not all is there'
  if (isWhole) return isAll ? undefined : 'not all is there, though nothing was missing'
  const expected = isEmpty ? 8 : 7
  // What is only read is asked for once more.
  if (exit !== exitOf(expected, call) || (!isPaid && !isEmpty)) return `exit ${exit}`
  const spoilt = names.filter((name) => !/\.damaged\.\w+$/.test(name) && !isIntact(name))
  return spoilt.length === 0 ? undefined : `not whole: ${spoilt.join()}`
}
