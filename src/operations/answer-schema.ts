import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { Context } from '../context.ts'
import { ModelgateError, UsageError, type ErrorCode } from '../errors.ts'
import type { SchemaMessage } from './schema-worker.ts'

/** The schema of `--schema`, and the check of an answer against it. */
export type AnswerSchema = Awaited<ReturnType<typeof compileAnswerSchema>>

/** Time limit for compiling a schema, and for checking a text. Normally each takes some milliseconds. */
const maxMs = 10_000

const maxMebibytes = 512

type CheckContext = Pick<Context, 'clock' | 'signal'>

/** Compiles a schema before anything is sent. @throws UsageError for what is no valid JSON Schema; the signal's reason */
export async function compileAnswerSchema(context: CheckContext, schema: unknown, memory = maxMebibytes) {
  const { clause, hint, ...checker } = await openSchemaChecker(context, schema, memory)
  if (clause !== undefined) throw new UsageError(`--schema ${clause}.`, { code: 'invalid_request', hint })
  return {
    schema,
    /** May be called only once. @throws ModelgateError (exit 14) that lists where the answer differs */
    async check(text: string): Promise<void> {
      const { clause, places } = await checker.check(text)
      checker.close()
      if (clause !== undefined) {
        const message = `The answer cannot be checked against --schema: it ${clause}.`
        throw schemaError('schema_unchecked', message, 'Make the schema simpler')
      }
      if (places === undefined) return
      const message = `The answer does not match --schema: ${places}.`
      throw schemaError('schema_mismatch', message, 'Make the prompt or the schema clearer')
    },
  }
}

function schemaError(code: ErrorCode, message: string, advice: string): ModelgateError {
  const hint = `${advice}; the answer itself was kept.`
  return new ModelgateError('schema', code, message, { phase: 'result', billed: 'yes', hint })
}

/**
 * Opens a thread that checks texts against a schema, one after the other; `clause` says of what is none, or takes too much
 * time or memory, that it cannot be used. These limits hold for the schema and for each text.
 */
export async function openSchemaChecker(context: CheckContext, schema: unknown, memory = maxMebibytes) {
  const { startThread } = await import('../files/program-files.ts')
  const worker = await startThread('operations/schema-worker', {
    workerData: JSON.stringify(schema),
    resourceLimits: { maxOldGenerationSizeMb: memory },
  })
  // One that ends while nobody waits for it is noticed by the next check.
  worker.on('error', () => {})
  const close = () => void worker.terminate()
  const compiled = await nextMessage(context, worker)
  if (compiled.clause !== undefined) close()
  return {
    ...compiled,
    /** Checks a text, when the one before has been checked. After a `clause` the checker is to be closed. */
    check(text: string) {
      worker.postMessage(text, [])
      return nextMessage(context, worker)
    },
    close,
  }
}

/** The thread's next message; a `clause`, and the thread terminated, if it takes too long or crashes. */
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
    if (tooLong.signal.aborted) return { clause: `takes longer than ${maxMs / 1000} s` }
    const isMemory = code === 'ERR_WORKER_OUT_OF_MEMORY'
    return { clause: isMemory ? 'takes more memory than a check may' : `cannot be used: ${message}` }
  } finally {
    timer.cancel()
    worker.unref()
  }
}
