import type { Worker } from 'node:worker_threads'
import type { Context, Timer } from '../context.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import type { SchemaMessage } from './schema-worker.ts'

/** The schema of `--schema`, and the check of an answer against it. */
export interface AnswerSchema {
  readonly schema: unknown
  /**
   * Checks one answer. May be called only once.
   * @throws ModelgateError (exit 14) that lists where the answer differs, or why it could not be checked; the reason
   *   of the context's signal when it is aborted
   */
  check(text: string): Promise<void>
}

/** Time limit for compiling a schema and for checking an answer, each. Normally it takes some milliseconds. */
const maxMs = 10_000

/** Time limit for testing one of its patterns against short texts. */
const maxPatternMs = 5_000

/** Memory limit of the worker thread. */
const maxMebibytes = 512

/**
 * Compiles a schema with a standard JSON Schema validator, before anything is sent.
 * @param memory of the thread, in MiB
 * @throws UsageError `bad_schema` when it is no valid JSON Schema, or one that no answer could be checked against; the
 *   reason of the context's signal
 */
export async function compileAnswerSchema(
  context: Pick<Context, 'clock' | 'signal'>,
  schema: unknown,
  memory = maxMebibytes,
): Promise<AnswerSchema> {
  const checker = await openSchemaChecker(context, schema, memory)
  if (checker.kind === 'refused') throw bad(checker.clause, checker.hint)
  return {
    schema,
    async check(text) {
      const checked = await checker.check(text)
      checker.close()
      if (checked.kind === 'unchecked') throw uncheckable(checked.clause)
      if (checked.count === 0) return
      throw mismatch(`The answer does not match --schema: ${listedErrors(checked)}.`)
    },
  }
}

/** A schema that texts are checked against; or why it cannot be: `clause` follows what names the schema. */
export type SchemaChecker =
  | {
      readonly kind: 'compiled'
      /**
       * Checks a text, when the one before has been checked. After `unchecked` the checker is closed.
       * @throws the reason of the context's signal
       */
      check(text: string): Promise<CheckedText>
      close(): void
    }
  | { readonly kind: 'refused'; readonly clause: string; readonly hint?: string | undefined }
type CheckedText = Extract<SchemaMessage, { readonly kind: 'checked' | 'unchecked' }>

/**
 * Opens a thread that checks any number of texts against a schema of draft 2020-12, or what its `$schema` says: draft
 * 2019-09 and draft 7 are known too. One that refers to itself without an end, or takes too much time or memory, is
 * refused, as is what is no JSON Schema.
 * @param memory of the thread, in MiB
 * @throws the reason of the context's signal
 */
export async function openSchemaChecker(
  context: Pick<Context, 'clock' | 'signal'>,
  schema: unknown,
  memory = maxMebibytes,
): Promise<SchemaChecker> {
  if (
    typeof schema !== 'boolean' &&
    (typeof schema !== 'object' || schema === null || Array.isArray(schema))
  ) {
    return { kind: 'refused', clause: 'must be a JSON object (a JSON Schema)' }
  }
  const { startThread } = await import('../files/program-files.ts')
  const worker = await startThread('operations/schema-worker', {
    workerData: JSON.stringify(schema),
    resourceLimits: { maxOldGenerationSizeMb: memory },
  })
  // One that ends while nobody waits for it is noticed by the next check.
  worker.on('error', () => {})
  const close = () => void worker.terminate()
  const compiled = await reply(context, worker)
  if (compiled.kind !== 'compiled') {
    close()
    const { clause, hint } = { hint: undefined, clause: '', ...compiled }
    return { kind: 'refused', clause, hint }
  }
  return {
    kind: 'compiled',
    async check(text) {
      worker.postMessage(text, [])
      return (await reply(context, worker)) as CheckedText
    },
    close,
  }
}

/** The places where a text differs, as one clause. */
export function listedErrors({
  errors,
  count,
}: Extract<SchemaMessage, { readonly kind: 'checked' }>): string {
  const more = count > errors.length ? `; and ${count - errors.length} more` : ''
  return `${errors.join('; ')}${more}`
}

/**
 * The worker's next message; `unchecked` if it takes too long or crashes. The worker keeps the process alive while it
 * is awaited, and has been terminated when this rejects.
 */
async function reply(context: Pick<Context, 'clock' | 'signal'>, worker: Worker): Promise<SchemaMessage> {
  const { clock, signal } = context
  const { promise, resolve, reject } = Promise.withResolvers<SchemaMessage>()
  let patternTimer: Timer | undefined
  const onMessage = (message: SchemaMessage) => {
    patternTimer?.cancel()
    if (message.kind !== 'trying') return resolve(message)
    const pattern = JSON.stringify(message.pattern.slice(0, 80))
    patternTimer = clock.timer(maxPatternMs, () =>
      fail(`has a pattern that takes longer than ${maxPatternMs / 1000} s: ${pattern}`),
    )
  }
  const fail = (clause: string) => {
    void worker.terminate()
    resolve({ kind: 'unchecked', clause })
  }
  const onError = (error: NodeJS.ErrnoException) =>
    fail(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? 'takes more memory than a check may'
        : `cannot be used: ${error.message}`,
    )
  const onAbort = () => {
    void worker.terminate()
    reject(signal.reason as Error)
  }
  const timer = clock.timer(maxMs, () => fail(`takes longer than ${maxMs / 1000} s`))
  worker.ref()
  worker.on('message', onMessage)
  worker.on('error', onError)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await promise
  } finally {
    timer.cancel()
    patternTimer?.cancel()
    worker.off('message', onMessage)
    worker.off('error', onError)
    signal.removeEventListener('abort', onAbort)
    worker.unref()
  }
}

function bad(clause: string, hint?: string): UsageError {
  return new UsageError(`--schema ${clause}.`, {
    code: 'bad_schema',
    ...(hint === undefined ? {} : { hint }),
  })
}

function uncheckable(clause: string): ModelgateError {
  return new ModelgateError(
    'schema',
    'schema_unchecked',
    `The answer cannot be checked against --schema: it ${clause}.`,
    {
      phase: 'result',
      billed: 'yes',
      hint: 'Make the schema simpler; the answer itself was kept.',
    },
  )
}

function mismatch(message: string): ModelgateError {
  return new ModelgateError('schema', 'schema_mismatch', message, {
    phase: 'result',
    billed: 'yes',
    hint: 'Make the prompt or the schema clearer; the answer itself was kept.',
  })
}
