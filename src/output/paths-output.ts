import { OutputClosed } from '../errors.ts'
import type { OutputEvent } from '../contract/output-event.ts'
import type { Notices } from './notices.ts'
import type { Output } from './output.ts'
import type { Screen } from './screen.ts'
import { usageOf } from './usage.ts'

export interface PathsOutputParts {
  readonly screen: Screen
  readonly notices: Notices
  /** How a path or an address is written: as it is, or with what could act on a terminal made visible. */
  readonly show: (text: string) => string
}

/** Commands that make files: the path of each file, or the address of each result, one a line. */
export function createPathsOutput({ screen, notices, show }: PathsOutputParts): Output {
  const line = (text: string) => screen.text(`${show(text)}\n`)
  return {
    event(event: OutputEvent) {
      notices.event(event)
      if (event.type === 'image-save' || event.type === 'video-save') line(event.file.path)
      else if (event.type === 'image-link') line(event.link.url)
    },
    raw() {},
    flush: () => screen.settle(),
    async end(document) {
      notices.end(usageOf(document))
      await screen.close()
    },
    async error(error, partial) {
      const usage = usageOf(partial)
      if (!(error instanceof OutputClosed) && usage !== null) notices.end(usage)
      notices.error(error)
      await screen.closeAfterError()
    },
  }
}
