import { ModelgateError, type ErrorFacts } from '../errors.ts'
import type { ImageDocument } from '../events/image.ts'
import type { Mismatch } from '../events/text.ts'
import { outputVersion } from '../events/version.ts'
import type { VideoDocument } from '../events/video.ts'
import { counted } from '../quantities.ts'
import { differenceSentence, type Difference } from './mismatch.ts'
import type { Listener } from './operation.ts'

type MediaDocument = ImageDocument | VideoDocument

/** What a call has come to so far. Its images or videos are numbered from 1. */
export abstract class MediaResults<Document extends MediaDocument> {
  protected abstract readonly noun: 'image' | 'video'
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

  /** The error for results that are kept and are not what was asked for; undefined where there is none. */
  mismatchError(pathOf: (index: number) => string | undefined): ModelgateError | undefined {
    if (this.mismatches.length === 0) return undefined
    const sentences = this.mismatches.map((mismatch) =>
      differenceSentence(pathOf(mismatch.index) ?? `The ${this.noun}`, mismatch),
    )
    return new ModelgateError('partial', 'mismatch', sentences.join('\n'), {
      phase: 'result',
      billed: 'yes',
      hint: 'A gateway may drop fields that it does not know. --accept-mismatch accepts what arrived.',
    })
  }

  warnOfCount(received: number, requested: number | undefined, kept: number): void {
    const asked = requested === undefined ? '' : `, ${requested} requested`
    const rest = kept === received ? '' : `; the first ${kept} are kept`
    this.warn(`${counted(received, this.noun)} received${asked}${rest}.`)
  }
}

/** What can still be fetched outranks what came. */
export function someFailed(message: string, errors: readonly ModelgateError[], facts: ErrorFacts = {}) {
  const rescued = errors.flatMap((error) => error.facts.rescued ?? [])
  const all = { phase: 'result', billed: 'yes', ...facts, ...(rescued.length > 0 && { rescued }) } as const
  const exit = errors.some((error) => error.exit === 'running') ? 'running' : 'partial'
  return new ModelgateError(exit, 'some_failed', message, all)
}
