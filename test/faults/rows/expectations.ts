import type { ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import type { Expected, FaultVariant } from '../row.ts'

/** The same whatever was asked for. */
export const everywhere = (expected: Expected): FaultVariant['expects'] => ({
  text: expected,
  creation: expected,
  'look-up': expected,
  download: expected,
})

/** It works after all, at this attempt. */
export const worksAt = (attempts: number, waits: readonly number[] = []): Expected => ({
  exit: 0,
  attempts,
  waits,
  leaves: 'all',
})

/** Waiting for a job goes on in spite of failed look-ups, but not for ever (F5). */
export const gaveUp: Expected = {
  exit: 5,
  says: /Looking up the job failed 10 times in a row/,
  attempts: 10,
  isNotForRuns: true,
  leaves: 'nothing',
}

/** A stream of a response is taken up again five times, which says nothing about the response (F20). */
export const brokeOff: Expected = {
  exit: 11,
  says: /The stream of the response resp_1 broke off 6 times in a row/,
  error: { code: 'still_running', remote_id: 'resp_1' },
  attempts: 'any',
  leaves: 'nothing',
}

/** The first request of a call: what keeps it from being sent keeps the others, too. */
export const isFirst = (call: Call, exchange: Exchange): boolean => exchange === call.exchanges[0]

/** A worker makes one attempt, and the run that it tells makes the next: only a 429 is repeated there. */
export const isToldToRun = ({ how }: Call, { role }: Exchange): boolean =>
  how === 'worker' && (role === 'text' || role === 'creation')

/** For every attempt that there may be. */
export const always = (reply: ServerReply): readonly ServerReply[] => Array.from({ length: 60 }, () => reply)
