import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import type { ModelgateError } from '../errors.ts'
import { nameProblems } from './output-name-problems.ts'
import { placeProblems } from './output-place-problems.ts'
import { numberedPath, partialPath } from './numbered-name.ts'
import { literalTemplate, parseTemplate, slugOf } from './output-template.ts'
import type { OutputKind } from './output-template.ts'
import { sidecarPath } from './sidecar.ts'

export interface OutputRequest {
  /** What `-o` says: a name, a folder (`DIR/` or one that exists), a template, or `-`. */
  readonly output?: string
  /** The folder for files that `-o` does not name (`output_dir`). */
  readonly folder?: string
  /** What is made; images unless given. */
  readonly kind?: OutputKind
  /** How many of them are asked for. */
  readonly count: number
  /** Replace existing files. */
  readonly force: boolean
  readonly model: string
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Where the images, or the videos, of one command go. */
export interface OutputPlan {
  /** The image goes to standard output (`-o -`). */
  readonly toStandardOutput: boolean
  /**
   * The user named no file: the name comes from the prompt and a digest of model and prompt, so it is the same in
   * every run; when it is taken, the next free one is as good.
   */
  readonly isAutomatic: boolean
  /** Two images of one command never get the same path, also when more come than were asked for. */
  pathFor(image: PlannedImage): string
  /**
   * Everything about names and places that would keep an image from being saved, found before anything is sent:
   * what is wrong with the name, a missing folder (exit 2), a file that exists, a folder that cannot be written (10).
   */
  check(expected?: ExpectedFiles): Promise<readonly ModelgateError[]>
}

export interface PlannedImage {
  /** From 1. */
  readonly index: number
  /** Without the dot. */
  readonly extension: string
  /** The id of the reply; it becomes `{id}` and is made safe. */
  readonly id?: string | undefined
  /** The number of a partial image, which is saved as `NAME-partial-0.EXT`. */
  readonly partial?: number | undefined
}

export interface ExpectedFiles {
  /** The extension that the images will most likely have; `png`, for videos `mp4`, unless given. */
  readonly extension?: string
  /** Records are written beside the images. */
  readonly sidecar?: boolean
  /** Previews are kept beside the images. */
  readonly partials?: boolean
}

/** Decides the names of a command's images or videos. Touches nothing; asks only whether `-o` is a folder. */
export function planOutputs(context: Context, request: OutputRequest): OutputPlan {
  const { output, kind = 'image', count } = request
  const folder = output === undefined ? literalTemplate(request.folder ?? '.') : folderOf(context, output)
  const text = folder === undefined ? output! : join(folder, automaticName(request))
  const template = parseTemplate(text)
  const toStandardOutput = output === '-'

  function pathFor({ index, extension, id, partial }: PlannedImage): string {
    if (toStandardOutput) return '-'
    const path = template.expand({ ...request, index, extension, id })
    const isNumbered = template.tokens.has('index') || (count <= 1 && index <= 1)
    const numbered = isNumbered ? path : numberedPath(path, index)
    return partial === undefined ? numbered : partialPath(numbered, partial)
  }
  return {
    toStandardOutput,
    isAutomatic: folder !== undefined,
    pathFor,
    async check({ extension = kind === 'video' ? 'mp4' : 'png', sidecar = false, partials = false } = {}) {
      const problems = nameProblems(context, { text, template, kind, count, isNamed: folder === undefined })
      if (problems.length > 0 || toStandardOutput) return problems
      const mayBeTaken = folder !== undefined || template.tokens.has('id')
      const files = Array.from({ length: count }, (_, at) => {
        // The longest id that a name can hold shows whether the name gets too long; what exists it cannot show.
        const planned = { index: at + 1, extension, id: 'x'.repeat(80) }
        const path = pathFor(planned)
        return [
          { path, mayBeTaken },
          ...(sidecar ? [{ path: sidecarPath(path), mayBeTaken }] : []),
          ...(partials ? [{ path: pathFor({ ...planned, partial: 0 }), mayBeTaken: true }] : []),
        ]
      })
      return await placeProblems(context, files.flat(), request.force)
    },
  }
}

/** As a template: the user's own text may hold tokens, the rest stands for itself. */
function automaticName({ model, prompt, kind }: OutputRequest): string {
  const digest = createHash('sha256').update(`${model}\0${prompt}`).digest('hex').slice(0, 8)
  return `${slugOf(prompt, kind)}-${digest}.{ext}`
}

/** The folder that `-o` names, as a template; undefined when it names a file. */
function folderOf(context: Context, output: string): string | undefined {
  if ((context.platform === 'win32' ? /[/\\]$/ : /\/$/).test(output)) return output
  try {
    const isFolder = output !== '' && statSync(resolve(context.cwd, output)).isDirectory()
    return isFolder ? literalTemplate(output) : undefined
  } catch {
    return undefined
  }
}
