import type { Context } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import type { AtomicFile } from '../files/atomic-file.ts'
import { createCandidateText } from './text-output.ts'
import type { Output } from './output.ts'
import type { PieceStream } from './redact/streams.ts'

export interface TextRescue {
  /** The rescue folder; undefined when the machine has no place for one. */
  readonly folder: string | undefined
  /** Names the file there. */
  readonly name: string
  /** Takes secrets out of the gateway's own JSON, where that is what standard output gets. */
  readonly documents: PieceStream | undefined
}

/**
 * Goes on when standard output takes no more (a full disk): the text has been paid for, and what did not get there is
 * put into the rescue folder. Keeps no more of the text than may not have been written yet.
 * The command ends with a FileError that tells the path.
 */
export function rescueText(context: Context, other: Output, rescue: TextRescue): Output {
  const { documents } = rescue
  const text = createCandidateText()
  /** Written, but the system may not have taken it: that shows only later. */
  let before = ''
  let recent = ''
  let failure: FileError | undefined
  let file: AtomicFile | undefined

  const goOn = async (error: unknown) => {
    if (!(error instanceof FileError) || failure !== undefined) throw error
    failure = error
    const { openRescueFile } = await import('../files/open-atomic-file.ts')
    file = await openRescueFile(context, rescue.folder, rescue.name, error)
    await file.write(before + recent)
  }
  const keep = async (written: () => Promise<void>) => {
    if (context.stdout.isIdle) before = ''
    if (file === undefined) await written().catch(goOn)
    else await file.write(recent)
    before = file === undefined ? before + recent : ''
    recent = ''
  }
  const rest = () => documents?.end().join('') ?? ''
  const finish = async (): Promise<FileError | undefined> => {
    const { rescued } = (await file?.commit()) ?? {}
    file = undefined
    const { code, message } = failure ?? {}
    if (rescued === undefined || code === undefined) return undefined
    return new FileError(
      code,
      `${message} What it did not take is kept in ${rescued.facts.rescued?.[0]}.`,
      rescued.facts,
    )
  }
  return {
    event(event) {
      const isText = event.type === 'text-delta'
      if (isText && documents === undefined) text.add(event.index, event.text)
      if (!isText || failure === undefined) other.event(event)
    },
    raw(json) {
      recent += documents?.push(json.endsWith('\n') ? json : `${json}\n`).join('') ?? ''
      if (failure === undefined) other.raw(json)
    },
    async flush() {
      recent += text.take()
      await keep(() => other.flush())
    },
    async end(document) {
      recent += text.rest('whole') + rest()
      await keep(() => other.end(document))
      const lost = await finish()
      if (lost !== undefined) throw lost
    },
    async error(error, partial) {
      recent += text.rest('broken-off') + rest()
      if (file !== undefined) {
        const lost = await keep(async () => {}).then(finish, (reason: unknown) => reason)
        if (lost instanceof ModelgateError) other.event({ type: 'warning-add', message: lost.message })
      }
      await other.error(error, partial)
    },
  }
}
