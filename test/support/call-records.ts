import { CallBook } from '../../src/files/calls/call-book.ts'
import type { CallEnd, CallWords } from '../../src/files/calls/call-record.ts'
import { fakeClock } from './fake-clock.ts'

/** A call to be recorded; without an id it gets one. */
export type RecordedCall = Partial<CallEnd & CallWords> & { readonly id?: string }

/** Records a call that has ended. @param now when it ended: milliseconds since 1970 */
export async function recordCall(
  stateFolder: string,
  { id, arguments: words, read_stdin, prompt, request, reply, ...call }: RecordedCall,
  now = Date.UTC(2026, 10, 22, 9),
): Promise<void> {
  const end = {
    time: new Date(now).toISOString(),
    duration_ms: 0,
    command: 'generate',
    cwd: '/home/a b/project',
    exit_code: 0,
    files: [],
    ...call,
  }
  const said = { arguments: words, read_stdin, prompt, request, reply }
  const kept = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  const book = new CallBook(stateFolder, fakeClock({ start: now, random: Math.random }))
  await book.end(id === undefined ? [] : [id], end, words && kept)
}
