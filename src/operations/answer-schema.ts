import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError, type ErrorCode } from '../errors.ts'
import { isObject } from '../json.ts'
import type { SchemaMessage, Unchecked } from './schema-worker.ts'

/** The schema of `--schema`, and the check of an answer against it. */
export type AnswerSchema = Awaited<ReturnType<typeof compileAnswerSchema>>

/** Time limit for compiling a schema, and for checking a text. Normally each takes some milliseconds. */
const maxMs = 10_000

const maxMebibytes = 512

type CheckContext = Pick<Context, 'clock' | 'signal'>

/** Compiles a schema before anything is sent. @throws UsageError for what is no valid JSON Schema; the signal's reason */
export async function compileAnswerSchema(context: CheckContext, schema: unknown, memory = maxMebibytes) {
  const checker = await openSchemaChecker(context, schema, memory)
  if (checker.kind === 'unchecked') {
    const { clause, hint } = checker
    throw new UsageError(`--schema ${clause}.`, { code: 'invalid_request', hint })
  }
  return {
    schema,
    /** May be called only once. @throws ModelgateError (exit 14) that lists where the answer differs */
    async check(text: string): Promise<void> {
      const checked = await checker.check(text)
      checker.close()
      if (checked.kind === 'unchecked') {
        const message = `The answer cannot be checked against --schema: it ${checked.clause}.`
        throw schemaError('schema_unchecked', message, 'Make the schema simpler')
      }
      if (checked.places === '') return
      const message = `The answer does not match --schema: ${checked.places}.`
      throw schemaError('schema_mismatch', message, 'Make the prompt or the schema clearer')
    },
  }
}

function schemaError(code: ErrorCode, message: string, advice: string): ModelgateError {
  const hint = `${advice}; the answer itself was kept.`
  return new ModelgateError('schema', code, message, { phase: 'result', billed: 'yes', hint })
}

/**
 * Opens a thread that checks texts against a schema, one after the other; `unchecked` for what is none, or takes too much
 * time or memory. These limits hold for the schema and for each text.
 */
export async function openSchemaChecker(context: CheckContext, schema: unknown, memory = maxMebibytes) {
  if (typeof schema !== 'boolean' && !isObject(schema)) {
    return { kind: 'unchecked', clause: 'must be a JSON object (a JSON Schema)' } satisfies Unchecked
  }
  const { startThread } = await import('../files/program-files.ts')
  const worker = await startThread('operations/schema-worker', {
    workerData: JSON.stringify(schema),
    resourceLimits: { maxOldGenerationSizeMb: memory },
  })
  // One that ends while nobody waits for it is noticed by the next check.
  worker.on('error', () => {})
  const close = () => void worker.terminate()
  const compiled = await nextMessage(context, worker)
  if (compiled.kind === 'unchecked') {
    close()
    return compiled
  }
  return {
    kind: 'compiled' as const,
    /** Checks a text, when the one before has been checked. After `unchecked` the checker is to be closed. */
    check(text: string) {
      worker.postMessage(text, [])
      return nextMessage(context, worker)
    },
    close,
  }
}

/** The thread's next message; `unchecked`, and the thread terminated, if it takes too long or crashes. */
async function nextMessage({ clock, signal }: CheckContext, worker: Worker): Promise<SchemaMessage> {
  const tooLong = new AbortController()
  const timer = clock.timer(maxMs, () => tooLong.abort())
  worker.ref()
  try {
    const [message] = await once(worker, 'message', { signal: AbortSignal.any([signal, tooLong.signal]) })
    return message as SchemaMessage
  } catch (error) {
    void worker.terminate()
    signal.throwIfAborted()
    const { code, message } = error as NodeJS.ErrnoException
    if (tooLong.signal.aborted) return { kind: 'unchecked', clause: `takes longer than ${maxMs / 1000} s` }
    const isMemory = code === 'ERR_WORKER_OUT_OF_MEMORY'
    const clause = isMemory ? 'takes more memory than a check may' : `cannot be used: ${message}`
    return { kind: 'unchecked', clause }
  } finally {
    timer.cancel()
    worker.unref()
  }
}
