import type { Context } from '../../context.ts'
import type { InitDocument } from '../../events/set-up.ts'
import { formatRows, headingLine, wrap } from '../shared/help-layout.ts'
import type { Models } from './choose-models.ts'
import { shortPath } from './session.ts'

/** The last screen: what has been written where, and what to do next. */
export function report(
  context: Context,
  document: InitDocument,
  { isPlan, credentials }: { readonly isPlan: boolean; readonly credentials: string | undefined },
): string {
  const { stdout } = context
  const columns = stdout.isTerminal ? stdout.columns : 80
  const { written, changed, completion, models, profile } = document
  const about = (path: string) => {
    if (path === credentials) return 'the key, for you alone to read'
    if (path === completion?.path) return 'completion, from the next shell on'
    return changed.join(', ')
  }
  const files = written.map((path) => [shortPath(context, path), about(path)] as const)
  const heading = isPlan ? 'Would be written:' : 'Written:'
  const blocks = [
    files.length === 0
      ? wrap('Everything is as it was: nothing had to be written.', columns)
      : `${headingLine(heading, columns)}\n${formatRows(files, columns)}`,
    `${headingLine('Try next:', columns)}\n${formatRows(nextCommands(models, profile), columns)}`,
  ]
  return `${blocks.join('\n\n')}\n`
}

/** Three commands that work with what is configured. */
function nextCommands(
  models: Models | InitDocument['models'],
  profile: string,
): (readonly [string, string])[] {
  const own = profile === 'default' ? '' : ` --profile ${profile}`
  const model = (id: string | null | undefined) => (id ? '' : ' -m MODEL')
  const text: readonly [string, string] = [
    `modelgate${own} generate${model(models.text)} "Name three rivers"`,
    'words as they arrive',
  ]
  const image: readonly [string, string] = [
    `modelgate${own} image create${models.image ? '' : ' -m MODEL'} -o boat.png "A paper boat"`,
    'a picture, into a file',
  ]
  const video: readonly [string, string] = [
    `modelgate${own} video generate -o boat.mp4 "A paper boat"`,
    'a video, when it is done',
  ]
  const review: readonly [string, string] = [
    `git diff | modelgate${own} respond${model(models.text)} "Review this"`,
    'piped text, then the prompt',
  ]
  const list: readonly [string, string] = ['modelgate models', 'what is known of models']
  return [text, ...(models.image ? [image] : []), ...(models.video ? [video] : []), review, list].slice(0, 3)
}
