/** An error gets its exit code where it is created; `main` only reads it. */

export interface ExitCode {
  readonly code: number
  readonly meaning: string
  readonly advice: string
}

/** The exit codes of the program. New codes may be added; scripts treat an unknown code as failure. */
export const exitCodes = {
  ok: { code: 0, meaning: 'done, everything verified', advice: '' },
  bug: { code: 1, meaning: 'a bug in the program', advice: 'report it' },
  usage: {
    code: 2,
    meaning: 'usage, invalid input or configuration; nothing was sent',
    advice: 'fix the call',
  },
  key: {
    code: 3,
    meaning: 'key missing or refused (401, 403, and a 400 that says the key is bad)',
    advice: 'fix the key',
  },
  rejected: {
    code: 4,
    meaning: 'the gateway rejected the request (other 4xx, spent quota)',
    advice: 'fix the request',
  },
  later: {
    code: 5,
    meaning: 'try later: 429, 503, 529, 408, 425 after retries; a GET that kept failing',
    advice: 'wait, run again',
  },
  notSent: { code: 6, meaning: 'not sent: DNS, connect, TLS, proxy', advice: 'run again safely' },
  unknown: {
    code: 7,
    meaning:
      'outcome unknown: sent, then lost, cut or stalled, or 500/502/504 on a create; may have been billed',
    advice: 'check before running again',
  },
  contract: { code: 8, meaning: 'the reply breaks the contract or a size limit', advice: 'report it' },
  failed: {
    code: 9,
    meaning:
      'the generation failed: `failed`, `cancelled`, blocked or refused for its content (also by a 400 that says so), an error event, nothing generated',
    advice: 'change the prompt',
  },
  io: {
    code: 10,
    meaning:
      'local files: missing, unreadable, exists already, no folder, no space, no permission; found before anything is sent wherever possible',
    advice: 'fix the file',
  },
  running: {
    code: 11,
    meaning:
      'not here yet: the remote job is still running, or its result is made and billed and could not be fetched (the id, and how to continue, are printed)',
    advice: 'run what is printed: it is free',
  },
  partial: {
    code: 12,
    meaning: 'some of several items failed, fewer came than were asked for, or something else came',
    advice: 'see the report',
  },
  outdated: { code: 13, meaning: '`run`: not up to date', advice: '`modelgate run --plan`' },
  schema: { code: 14, meaning: 'the answer does not match `--schema`', advice: '' },
  limit: {
    code: 15,
    meaning:
      'the limit on what may be created (`--max-creates`), or on its estimated cost (`--max-cost`), is reached; nothing was sent',
    advice: 'raise it, or stop',
  },
  hangup: { code: 129, meaning: 'SIGHUP', advice: '' },
  interrupt: { code: 130, meaning: 'SIGINT (Ctrl-C)', advice: '' },
  terminate: { code: 143, meaning: 'SIGTERM', advice: '' },
} as const satisfies Record<string, ExitCode>

export type ExitName = keyof typeof exitCodes

/** Whether an error can end so, for names that come from elsewhere. */
export function isExitName(name: unknown): name is ExitName {
  return typeof name === 'string' && Object.hasOwn(exitCodes, name)
}

export type Billed = 'no' | 'maybe' | 'yes'

export type Phase =
  | 'input'
  | 'config'
  | 'connect'
  | 'send'
  | 'wait'
  | 'reply'
  | 'stream'
  | 'result'
  | 'output'

export interface ErrorFacts {
  readonly phase?: Phase
  readonly httpStatus?: number | undefined
  readonly requestId?: string | undefined
  readonly retryAfterS?: number | undefined
  /** Whether the gateway wants the request to be sent again, where it says so (`x-should-retry`). */
  readonly shouldRetry?: boolean | undefined
  readonly billed?: Billed
  /** What to do next, as a sentence or a command to run. */
  readonly hint?: string | undefined
  /** The words of the command that the hint names, if it names one to run next. */
  readonly next?: readonly string[] | undefined
  readonly remoteId?: string | undefined
  /** Absolute paths of results that could not be written to their targets and were saved in the rescue folder. */
  readonly rescued?: readonly string[]
  /** The individual problems of an error that lists several. */
  readonly problems?: readonly ModelgateError[]
  readonly cause?: unknown
}

/** What is undefined stays as it is; a hint of null is left out. */
type Amendment = {
  readonly [Name in keyof ErrorFacts]: ErrorFacts[Name] | (Name extends 'hint' ? null : undefined) | undefined
} & {
  readonly exit?: ExitName | undefined
  readonly code?: ErrorCode | undefined
  readonly message?: string | undefined
}

function withoutUndefined(facts: Amendment): ErrorFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

/** Each stands for one reaction that a script may have; codes that a gateway sends are passed on beside these. */
export const errorCodes = {
  // The call, its input and its configuration.
  usage: 'The call is wrong: a command, an option, or a value of one.',
  invalid_request: 'The body of the request is wrong: a field, a file of JSON, a schema, or an id in it.',
  config_invalid: 'A setting, a variable, a configuration file, or a key in it is wrong.',
  base_url_missing: 'No gateway is configured.',
  model_missing: 'No model is named.',
  prompt_missing: 'There is no prompt, or an empty one.',
  not_confirmed: 'A question was not answered, or nobody can be asked here: answer it with an option.',
  price_unknown: 'A limit on cost cannot be checked: prices are missing, or of several currencies.',
  unknown_id: 'Nothing has this id or name here, or several things have it.',
  other_gateway: 'It was started at another gateway, or with another key: use that.',
  invalid_conversation: 'A conversation cannot be read, or is of the other style of API.',
  manifest_invalid: 'The manifest of `run` is missing or wrong.',
  conversation_not_saved: 'The answer has arrived, but its conversation could not be saved where it was.',
  lock_invalid: 'The lock, or a part to be merged, is damaged or does not belong to the manifest.',
  lock_conflict: 'The lock has conflict marks: `modelgate run merge`.',
  other_version: 'It was written by another version of the program: use that, or a newer one.',
  run_owned: 'Another process is running the same project.',
  asserts_failed: 'What was picked or adopted does not pass the asserts of its job.',
  not_recorded: 'The recordings for a replay are missing or damaged, or lack a request.',
  // Files.
  not_found: 'A file or folder does not exist.',
  not_a_file: 'A path leads to a folder, or to something else that is no regular file.',
  bad_file_name: 'A path is too long, not possible on this system, or leads out of its folder.',
  empty_file: 'An input file is empty.',
  file_too_large: 'An input is larger than is allowed.',
  wrong_type: 'An input is not of the type that is needed: not text, not a picture, not a video.',
  input_silent: 'Nothing arrived through a pipe or from the terminal.',
  permission_denied: 'The system does not permit to read or write a file.',
  no_space: 'The disk or a quota is full.',
  read_failed: 'A file or stream cannot be read for another reason.',
  write_failed: 'A file or stream cannot be written for another reason.',
  file_exists: 'An output exists already: choose another name, or add --force.',
  source_changed: 'An input changed while or after it was read.',
  file_changed: 'A file of the program was changed by another process meanwhile: run it again.',
  no_state_folder: 'There is no folder to keep state in, or it is a link.',
  result_lost: 'A stored result is gone or damaged: what needs it has to be made again.',
  output_changed: 'An output was changed since it was made, and is not replaced.',
  // The key.
  key_missing: 'No key is configured.',
  key_refused: 'The gateway refused the key.',
  key_command_failed: 'The command that prints the key failed.',
  // Queue and store of `run`.
  queue_refused: 'The queue refused the connection, or is not safe to use.',
  queue_unreachable: 'The queue cannot be reached.',
  queue_damaged: 'A task in the queue cannot be read, or has vanished.',
  worker_lost: 'The worker that made the request died, or was silent for too long.',
  store_missing: 'The shared store, or a file in it, does not exist there.',
  store_refused: 'The shared store refused the key or the request.',
  store_unavailable: 'The shared store cannot answer now.',
  // Limits.
  creations_limit: 'The limit on what may be created is reached.',
  cost_limit: 'The limit on the estimated cost is reached.',
  // The way to the gateway and back.
  not_sent: 'No connection: the host was not found, refused it, or was silent.',
  not_sent_certificate: 'A certificate is not trusted, or the server demands one of the client.',
  not_sent_tls: 'The server does not speak TLS on this port.',
  not_sent_proxy: 'The proxy cannot be reached, or does not connect.',
  deadline: 'The time limit was reached (--timeout).',
  timeout: 'The gateway sent nothing, or next to nothing, for too long.',
  connection_lost: 'The connection ended before the reply did.',
  reply_not_understood: 'The reply is not what the contract promises.',
  reply_too_large: 'The reply, or a part of it, is larger than is allowed.',
  error_in_reply: 'The reply reports an error that has no code of its own.',
  // Results.
  content_refused: 'The prompt, an attachment or the result was refused for its content.',
  generation_failed: 'The generation failed or was cancelled.',
  nothing_generated: 'Nothing was generated, or not what was asked for.',
  no_text_before_limit: 'The token limit was reached before any text.',
  finish_length: 'The token limit cut the text, and --strict does not accept that.',
  schema_mismatch: 'The answer does not match --schema.',
  schema_unchecked: 'The answer cannot be checked against --schema.',
  damaged_media: 'An image or video is empty, damaged, of another type, or cannot be verified.',
  mismatch: 'A result is not what was asked for: its size, format or duration.',
  some_failed: 'Some of several items failed.',
  not_up_to_date: '`run`: something is not up to date.',
  url_refused: 'The URL of a result is not one that may be fetched.',
  url_expired: 'The URL of a result is no longer served, or never was.',
  result_expired: 'A result was made, and has expired since.',
  result_in_cloud_storage: 'A result is in cloud storage that only its owner can read.',
  // Jobs that continue at the gateway.
  still_running: 'The job or response is still running.',
  left_to_workers: '`run --detach`: the workers continue.',
  not_ready: 'What is asked for is not ready yet.',
  no_such_job: 'The gateway knows no such job or response.',
  other_job: 'The gateway answered for another job than the one asked for.',
  // The process.
  interrupted: 'A signal ended the command.',
  internal_error: 'A bug in the program.',
} as const

declare const fromElsewhere: unique symbol

/** A code of this program, one that the gateway sent, or the HTTP status of a reply that has none. */
export type ErrorCode =
  | keyof typeof errorCodes
  | `http_${number}`
  | (string & { readonly [fromElsewhere]: true })

/** A code that a gateway sent, or that has been on record. */
export function asErrorCode(code: string): ErrorCode {
  return code as ErrorCode
}

/** The one error class that `main` knows; the subclasses only fix the exit code. */
export class ModelgateError extends Error {
  readonly exit: ExitName
  readonly code: ErrorCode
  readonly facts: ErrorFacts

  constructor(exit: ExitName, code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, { cause: facts.cause })
    // Of 5 and 6 a script may believe that nothing was paid.
    const isPaid = facts.billed === 'yes' && (exit === 'later' || exit === 'notSent')
    this.exit = isPaid ? 'running' : exit
    this.code = code
    this.facts = withoutUndefined(facts)
  }

  /** The bundle keeps the names of classes. */
  override get name(): string {
    return this.constructor.name
  }

  get exitCode(): number {
    return exitCodes[this.exit].code
  }

  /** A copy with another message or facts; another hint takes `next` with it. `{ billed: 'no', ...error.facts }` adds only missing facts. */
  amend(amendment: Amendment & { readonly exit?: undefined }): this
  amend(amendment: Amendment): ModelgateError
  amend({ exit = this.exit, code = this.code, message = this.message, ...changed }: Amendment) {
    // Another hint leads elsewhere.
    const stale = changed.hint === undefined ? {} : { next: undefined }
    const facts = { ...this.facts, ...stale, ...withoutUndefined(changed) }
    const amended = new ModelgateError(exit, code, message, { ...facts, hint: facts.hint ?? undefined })
    const like = exit === this.exit ? (Object.getPrototypeOf(this) as object) : prototypeFor(exit)
    return Object.setPrototypeOf(amended, like) as ModelgateError
  }
}

function prototypeFor(exit: ExitName): ModelgateError {
  if (exit === 'usage') return UsageError.prototype
  if (exit === 'io') return FileError.prototype
  if (exit === 'contract') return ContractError.prototype
  if (exit === 'failed') return GenerationError.prototype
  return ModelgateError.prototype
}

export class UsageError extends ModelgateError {
  constructor(problems: string | readonly string[], facts: ErrorFacts & { readonly code?: ErrorCode } = {}) {
    const message = typeof problems === 'string' ? problems : problems.join('\n')
    super('usage', facts.code ?? 'usage', message, { phase: 'input', billed: 'no', ...facts })
  }
}

export class ConfigError extends UsageError {
  constructor(message: string, facts: ErrorFacts & { readonly code?: ErrorCode } = {}) {
    super(message, { phase: 'config', code: 'config_invalid', ...facts })
  }
}

export class FileError extends ModelgateError {
  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super('io', code, message, { phase: 'output', ...facts })
  }
}

/** The reply is not what the contract promises, or larger than the limits allow. */
export class ContractError extends ModelgateError {
  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super('contract', code, message, { phase: 'reply', billed: 'maybe', ...facts })
  }
}

/** The gateway answered, and the answer is that nothing usable was generated. */
export class GenerationError extends ModelgateError {
  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super('failed', code, message, { phase: 'result', billed: 'maybe', ...facts })
  }
}

type SignalExit = 'hangup' | 'interrupt' | 'terminate'

/** A signal ended the command. Without facts, no request had been sent. */
export class Interrupted extends ModelgateError {
  /** Set by a command that only a signal ends, and that has an exit code of its own: the process does not die of it. */
  isExpected = false
  /** How long the command may clean up, in milliseconds. One that needs longer says so when it is notified of the signal. */
  cleanUpMs = 1_000

  constructor(exit: SignalExit, facts: ErrorFacts = {}) {
    const message = { hangup: 'Hung up.', interrupt: 'Stopped.', terminate: 'Terminated.' }[exit]
    super(exit, 'interrupted', message, facts)
  }
}

/** The reader of standard output has closed it: the program ends quietly (exit 0). */
export class OutputClosed extends ModelgateError {
  constructor() {
    super('ok', 'interrupted', 'standard output was closed by its reader', { phase: 'output' })
  }
}

/** Whether a call that failed so may have cost money, derived from the exit code if the error does not say. */
export function billedOf(error: ModelgateError): Billed {
  return saysNotCharged(error) ? 'no' : billedByFacts(error)
}

/** The same without what the gateway's words say: they could be about something else. */
export function billedByFacts({ exit, facts: { billed, phase } }: ModelgateError): Billed {
  if (billed !== undefined) return billed
  if (phase === 'input' || phase === 'config' || phase === 'connect') return 'no'
  return unbilledExits.has(exit) ? 'no' : 'maybe'
}

/** Whether the gateway itself says so, in a message that would be shown beside ours. */
export function saysNotCharged({ message }: { readonly message: string }): boolean {
  return /\b(?:not|never) (?:be |been )?(?:charged|billed)\b/i.test(message)
}

/** An interrupt without facts came before any request. */
const unbilledExits: ReadonlySet<ExitName> = new Set([
  'usage',
  'key',
  'rejected',
  'later',
  'notSent',
  'hangup',
  'interrupt',
  'terminate',
])

/** The failure has been reported; only the exit code is left to pass on. */
export class AlreadyReported extends Error {
  override readonly name = 'AlreadyReported'
  readonly exitCode: number

  constructor(error: ModelgateError) {
    super(error.message, { cause: error })
    this.exitCode = error.exitCode
  }
}

export function asModelgateError(error: unknown, debug: boolean): ModelgateError {
  if (error instanceof ModelgateError) return error
  // The stack is for bug reports, so only `--debug` shows it.
  const reason = error instanceof Error ? (debug ? error.stack : error.message) : String(error)
  return new ModelgateError('bug', 'internal_error', `This is a bug in modelgate: ${reason}`, {
    hint: 'Please report it with what --debug prints; check it for private data first.',
    cause: error,
  })
}

/** Ends the text with a full stop, so that another sentence can follow: messages of gateways often have none. */
export function asSentence(text: string): string {
  return text.replace(/[.!?]?$/, '.')
}
