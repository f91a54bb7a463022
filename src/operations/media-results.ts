import { ModelgateError, type ErrorFacts } from '../errors.ts'
import type { ImageDocument } from '../events/image.ts'
import type { Mismatch } from '../events/text.ts'
import { outputVersion } from '../events/version.ts'
import type { VideoDocument } from '../events/video.ts'
import type { Difference } from './mismatch.ts'
import type { Listener } from './operation.ts'

type MediaDocument = ImageDocument | VideoDocument

/** What a call has come to so far. Its images or videos are numbered from 1. */
export abstract class MediaResults<Document extends MediaDocument> {
  readonly failures: MediaDocument['failures'][number][] = []
  readonly mismatches: Mismatch[] = []
  protected readonly listener: Listener
  /** What every document begins with. */
  protected readonly head: Pick<Document, 'version' | 'command' | 'model'>
  protected readonly warnings: string[] = []

  constructor(listener: Listener, command: Document['command'], model: string | null) {
    this.listener = listener
    this.head = { version: outputVersion, command, model }
    listener.event({ type: 'start', ...this.head })
  }

  readonly warn = (message: string): void => {
    if (this.warnings.includes(message)) return
    this.warnings.push(message)
    this.listener.event({ type: 'warning-add', message })
  }

  protected addFailure(index: number, { code, message, facts }: ModelgateError) {
    const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
    this.failures.push(failure)
    return failure
  }

  protected addDifferences(index: number, found: readonly Difference[]): void {
    this.mismatches.push(...found.map((one) => ({ index, ...one })))
  }
}

/** What can still be fetched outranks what came. */
export function someFailed(message: string, errors: readonly ModelgateError[], facts: ErrorFacts = {}) {
  const rescued = errors.flatMap((error) => error.facts.rescued ?? [])
  const all = { phase: 'result', billed: 'yes', ...facts, ...(rescued.length > 0 && { rescued }) } as const
  const exit = errors.some((error) => error.exit === 'running') ? 'running' : 'partial'
  return new ModelgateError(exit, 'some_failed', message, all)
}
