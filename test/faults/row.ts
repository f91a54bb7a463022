import type { ErrorDocument } from '../../src/events/documents.ts'
import type { ServerReply } from '../support/server-replies.ts'
import type { Call } from './calls.ts'
import type { Exchange, Role } from './exchanges.ts'
import type { Trouble } from './perform-call.ts'
import { elsewhere } from './rows/elsewhere.ts'

/** A row of docs/faults.md: one thing that can go wrong, and all the ways in which it is tried. The page is made of them. */
export interface FaultRow {
  /** `B2` */
  readonly id: string
  /** What goes wrong, and what happens then, in a few words. */
  readonly fault: string
  readonly happens: string
  readonly tried: readonly FaultVariant[]
  readonly note?: string
}

export function row(
  id: string,
  fault: string,
  happens: string,
  tried: readonly FaultVariant[] = [],
): FaultRow {
  const note = elsewhere[id]
  return { id, fault, happens, tried, ...(note !== undefined && { note }) }
}

/** One way in which a fault shows, at every exchange of every call that it says something of. */
export interface FaultVariant {
  readonly name: string
  /** Calls and exchanges that it applies to, of those whose role is in `expects`; all unless told. */
  readonly where?: (call: Call, exchange: Exchange) => boolean
  /** What the requests of the exchange get, one after the other; those after these get the whole reply. */
  readonly replies?: (exchange: Exchange, call: Call) => readonly ServerReply[]
  /** What else is different about the call. */
  readonly trouble?: (exchange: Exchange, call: Call) => Partial<Trouble>
  /** Polls, streams that are taken up again, and reports are look-ups unless they are told by themselves. */
  readonly expects: Partial<Record<Role, Expected>>
  /** Tried at one exchange of each role only: the others read such replies in the same way. */
  readonly isSampled?: true
  /** Skipped where there is no `openssl`. */
  readonly needsOpenssl?: true
}

/** What a user and a script see. */
export interface Expected {
  /** Of a single command; a run and a chat end as `exitOf` says. */
  readonly exit: number
  /** What the one message says; nothing is said unless told. */
  readonly says?: RegExp
  /** What the error object of `--json` holds besides its exit code. */
  readonly error?: Partial<ErrorDocument['error']>
  /** Requests of the exchange. One unless told. */
  readonly attempts?: number | 'any'
  /** The same for a task of a run, which sends again what cannot have arrived. */
  readonly attemptsOfRun?: number | 'any'
  /** Of a download: the result is there no more. */
  readonly isGone?: true
  /** A run has rules of its own for this. */
  readonly isNotForRuns?: true
  /** Pauses between them, in milliseconds. */
  readonly waits?: readonly number[]
  /**
   * Of the whole result: what had come of a streamed text, the beginning of a file under the name of a damaged one, the
   * files without a word on standard output, nothing, or another text in its place. Unless told, all of it after 0, and
   * nothing after a failure.
   */
  readonly leaves?: 'begun' | 'damaged' | 'files' | 'nothing' | { readonly text: string }
}

/**
 * A failed task of a run is one of several items, and an answer that a chat lost does not end it (docs/exit-codes.md).
 */
export function exitOf(exit: number, { how, argv }: Call): number {
  if (how === 'chat') return 0
  if (argv[0] !== 'run') return exit
  return [4, 8, 9].includes(exit) ? 12 : exit
}

/** What is made and could not be fetched can be asked for again, whatever kept it from coming, unless it is gone. */
function atDownload(expected: Expected): Expected {
  return expected.isGone || ![4, 5, 6, 8].includes(expected.exit) ? expected : { ...expected, exit: 11 }
}

/** Of 5 and 6 a script may believe that nothing was paid: a job that this call has started is. */
function atPoll(expected: Expected, { exchanges }: Call): Expected {
  const isPaid = exchanges.some(({ role }) => role === 'creation')
  return isPaid && [5, 6].includes(expected.exit) ? { ...expected, exit: 11 } : expected
}

/** A fault at one exchange of one call. */
export interface FaultCase {
  readonly row: FaultRow
  readonly variant: FaultVariant
  readonly call: Call
  readonly exchange: Exchange
  readonly expected: Expected
}

/** Every fault at every exchange of every call that it applies to. */
export function casesOf(rows: readonly FaultRow[], calls: readonly Call[]): readonly FaultCase[] {
  return rows.flatMap((row) => row.tried.flatMap((variant) => casesOfVariant(row, variant, calls)))
}

const likeLookUps: ReadonlySet<Role> = new Set(['poll', 'stream', 'report'])

function casesOfVariant(row: FaultRow, variant: FaultVariant, calls: readonly Call[]): readonly FaultCase[] {
  const { expects, where, isSampled } = variant
  const cases = calls.flatMap((call) =>
    call.exchanges.flatMap((exchange) => {
      const { role } = exchange
      const told = expects[role] ?? (likeLookUps.has(role) ? expects['look-up'] : undefined)
      const isPoll = told !== undefined && role === 'poll'
      const expected =
        told !== undefined && role === 'download' ? atDownload(told) : isPoll ? atPoll(told, call) : told
      const isMeant =
        expected !== undefined &&
        !(expected.isNotForRuns && call.argv[0] === 'run') &&
        (where?.(call, exchange) ?? true)
      return isMeant ? [{ row, variant, call, exchange, expected }] : []
    }),
  )
  return isSampled ? onePerRole(cases) : cases
}

/** The first of each role. */
export function onePerRole(cases: readonly FaultCase[]): readonly FaultCase[] {
  const seen = new Set<Role>()
  return cases.filter(({ exchange: { role } }) => !seen.has(role) && seen.add(role))
}
