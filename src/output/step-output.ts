import { randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import type { Context, Sink } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { OutputEvent } from '../events/documents.ts'
import { filesInPlace, type RunDocument } from '../events/run-document.ts'
import { writing } from '../files/file-error.ts'
import type { TextFile } from '../files/atomic-file.ts'
import type { Output, OutputMode } from './output.ts'
import { pathsOf } from '../platform.ts'

export type StepOutput = ReturnType<typeof openStepOutput>

interface StepParts {
  readonly mode?: OutputMode | undefined
  readonly result?: 'text' | 'files' | 'job' | 'job-id'
  readonly file?: TextFile | undefined
}

/** Of a larger one GitHub may drop what is passed on to other jobs. */
const maxValueBytes = 1024 * 1024

/**
 * Paths are absolute, since other steps may work in another folder. A text that broke off, or that cannot be written,
 * goes to standard output after all: it has been paid for. @throws UsageError, FileError
 */
export function openStepOutput(context: Context, name: string) {
  const path = context.env['GITHUB_OUTPUT']
  if (!/^[A-Za-z_][\w-]{0,99}$/.test(name)) {
    throw new UsageError(
      `--github-output must be letters, digits, "-" and "_", and begin with a letter or "_", not ${JSON.stringify(name)}.`,
    )
  }
  if (!path) {
    throw new UsageError('--github-output needs a step of GitHub Actions: GITHUB_OUTPUT is not set.', {
      hint: 'Elsewhere, leave the flag out: redirect standard output, or name a file with -o.',
    })
  }
  const { stdout } = context
  const absolute = (given: string) => absolutePath(context, given)
  appendTo(absolute(path), '')
  const { sink, text } = collectingSink()
  const outputTo = (other: Output, { mode, result = 'text', file }: StepParts): Output => {
    const listsFiles = result === 'files' && mode !== 'json'
    const files: string[] = []
    let state: 'open' | 'failed' | 'done' = 'open'
    /** What was written by the end of the command, without what its failure adds. */
    let whole: string | undefined

    const value = () => {
      if (listsFiles) return files.join('\n')
      const collected = text().replace(/\n$/, '')
      return collected === '' && file !== undefined ? absolute(file.path) : collected
    }
    const write = () => {
      if (state === 'done') return
      state = 'failed'
      const written = value()
      // Nobody can guess it, so that no text can end the output and begin another.
      const delimiter = `ghadelimiter_${randomBytes(16).toString('hex')}`
      appendTo(absolute(path), `${name}<<${delimiter}\n${written}\n${delimiter}\n`)
      state = 'done'
      if (Buffer.byteLength(written) <= maxValueBytes) return
      const message = `The output ${name} is larger than 1 MiB: GitHub may not pass it on to other jobs. -o FILE keeps it.`
      other.event({ type: 'warning-add', message })
    }
    const printInstead = async () => {
      if (state === 'done') return
      state = 'done'
      stdout.write(whole ?? text())
      await stdout.drain().catch(() => {})
    }
    return {
      ...other,
      event(event) {
        const paths = listsFiles ? resultsOf(event) : []
        for (const path of paths) files.push(/^https?:/.test(path) ? path : absolute(path))
        other.event(event)
      },
      async end(document) {
        await other.end(document)
        whole = text()
        write()
      },
      async error(error, partial) {
        await other.error(error, partial)
        const isUsable = result !== 'text' && (files.length > 0 || text() !== '')
        if (isUsable && state === 'open') write()
        else await printInstead()
      },
    }
  }
  return { sink, outputTo }
}

export function absolutePath({ cwd, platform }: Pick<Context, 'cwd' | 'platform'>, path: string): string {
  return pathsOf(platform).resolve(cwd, path)
}

function appendTo(file: string, text: string): void {
  writing(file, () => appendFileSync(file, text))
}

function resultsOf(event: OutputEvent): string[] {
  if (event.type === 'image-save' || event.type === 'video-save') return [event.file.path]
  if (event.type === 'instance-end') return filesInPlace(event).map(({ path }) => path)
  return event.type === 'image-link' ? [event.link.url] : []
}

function collectingSink(): { readonly sink: Sink; text(): string } {
  const chunks: Buffer[] = []
  const sink: Sink = {
    isTerminal: false,
    columns: 80,
    isClosed: false,
    write: (chunk) => void chunks.push(Buffer.from(chunk as string)),
    needsDrain: false,
    isIdle: true,
    async drain() {},
    stream: undefined,
  }
  return { sink, text: () => Buffer.concat(chunks).toString('utf8') }
}

const maxSummaryBytes = 1024 * 1024

/** A list that is longer is left out: GitHub passes at most 1 MiB of outputs on to other jobs. */
const maxListBytes = 256 * 1024

/** @returns the names of outputs that were left out because they are too long @throws FileError */
export async function writeStepResults(
  context: Pick<Context, 'env' | 'cwd' | 'platform'>,
  document: RunDocument,
  redact: (json: string) => string,
  summary: () => Promise<string>,
): Promise<readonly string[]> {
  const { env } = context
  if (env['GITHUB_ACTIONS'] !== 'true') return []
  const { GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: page } = env
  const lists = Object.entries(listsOf(context, document)).map(
    ([name, list]) => [name, redact(JSON.stringify(list))] as const,
  )
  const long = lists.filter(([, json]) => Buffer.byteLength(json) > maxListBytes).map(([name]) => name)
  const outputs = [...Object.entries(numbersOf(document)), ...lists.filter(([name]) => !long.includes(name))]
  // Each is one line that begins with its name: nothing in it can begin another output.
  const lines = outputs.map(([name, value]) => `${name}=${value}\n`).join('')
  if (output) appendTo(absolutePath(context, output), lines)
  if (page) {
    const text = await summary()
    if (Buffer.byteLength(text) <= maxSummaryBytes) appendTo(absolutePath(context, page), `${text}\n`)
  }
  return output ? long : []
}

function numbersOf({ instances, states, creates, estimate, cost }: RunDocument) {
  const failed = instances.filter(isFailed).length
  const left = instances.length - states.fresh
  return {
    up_to_date: left === 0,
    created: creates.made,
    failed,
    left,
    planned: creates.planned,
    estimate: estimate?.amount ?? '',
    cost: cost?.amount ?? '',
  }
}

/** What was put in place, by absolute paths, since other steps may work in another folder; and what failed. */
function listsOf(context: Pick<Context, 'cwd' | 'platform'>, { instances }: RunDocument) {
  const files = instances.flatMap(filesInPlace)
  const failures = instances.filter(isFailed).map(({ instance, error }) => ({ instance, ...error }))
  return { files: files.map(({ path }) => absolutePath(context, path)), failures }
}

function isFailed({ action }: RunDocument['instances'][number]): boolean {
  return action === 'failed' || action === 'unknown'
}
