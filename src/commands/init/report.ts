import { credentialsPath } from '../../config/key.ts'
import type { Context } from '../../context.ts'
import { shellWord } from '../../files/file-error.ts'
import type { InitDocument } from '../../events/set-up.ts'
import { wrap } from '../../output/line-breaks.ts'
import { formatRows, headingLine, type HelpRow } from '../../output/help-page.ts'
import { homePath } from '../shared/call/print-document.ts'

/** The last screen: what has been written where, and what to do next. */
export function report(context: Context, document: InitDocument, isPlan: boolean): string {
  const { stdout } = context
  const columns = stdout.isTerminal ? stdout.columns : 80
  const { written, changed, models, profile } = document
  const about = (path: string) =>
    path === credentialsPath(context) ? 'the key, readable only by you' : changed.join(', ')
  const files = written.map((path) => [homePath(context, path), about(path)] as const)
  const heading = isPlan ? 'Would be written:' : 'Written:'
  const blocks = [
    files.length === 0
      ? wrap('Nothing to write: everything was set already.', columns)
      : `${headingLine(heading, columns)}\n${formatRows(files, columns)}`,
    `${headingLine('Try next:', columns)}\n${formatRows(nextCommands(models, profile), columns)}`,
  ]
  return `${blocks.join('\n\n')}\n`
}

/** Three commands that work with what is configured. */
function nextCommands({ text, image, video }: InitDocument['models'], profile: string): HelpRow[] {
  const program = profile === 'default' ? 'modelgate' : `modelgate --profile ${shellWord(profile)}`
  const model = text === null ? ' -m MODEL' : ''
  const rows: readonly (HelpRow | undefined)[] = [
    [`${program} generate${model} "Name three rivers"`, 'words as they arrive'],
    image === null
      ? undefined
      : [`${program} image create -o boat.png "A paper boat"`, 'an image, into a file'],
    video === null
      ? undefined
      : [`${program} video generate -o boat.mp4 "A paper boat"`, 'a video, when it is done'],
    [`git diff | ${program} respond${model} "Review this"`, 'piped text, then the prompt'],
    [`${program} chat${model}`, 'a conversation'],
  ]
  return rows.filter((row) => row !== undefined).slice(0, 3)
}
