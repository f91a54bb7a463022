import type { ErrorDocument } from '../../src/events/documents.ts'
import type { LocalServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'
import type { RunningProgram } from './start-program.ts'
import type { StyleName, TextStyle } from './text-styles.ts'

/** One way in which a call can go wrong, and all that a user or a script sees of it. */
export interface Scenario {
  readonly name: string
  /** Both text commands, unless it concerns only one. */
  readonly only?: StyleName
  /** Flags and, at the end, the prompt; what it is does not matter unless told. */
  readonly argv?: (style: TextStyle) => readonly string[]
  /** What the server does with each connection, in order; nothing at all when the call does not get that far. */
  readonly replies: (style: TextStyle) => readonly ServerReply[]
  /** What happens around the program while it runs. */
  readonly meanwhile?: (run: RunningProgram, server: LocalServer, asJson: boolean) => Promise<void>
  /** How long the program waits before each further attempt, in milliseconds. Time passes by itself unless `meanwhile` is there. */
  readonly waits?: readonly number[]

  readonly exit: number
  /** All of standard output; nothing unless told. */
  readonly stdout?: string
  /** What the one message says of the problem. */
  readonly says?: RegExp
  /** What the error object of `--json` holds, besides exit code and message. */
  readonly error?: Partial<ErrorDocument['error']>
  /** A part of what else is on standard error: a warning beside a success, a hint. */
  readonly adds?: string
}
