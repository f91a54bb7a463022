import type { Context } from '../../context.ts'
import { filesInPlace, type RunDocument } from '../../events/run-document.ts'
import { absolutePath, appendTo } from '../step-output.ts'

/** GitHub refuses a larger summary of a step. */
const maxSummaryBytes = 1024 * 1024

/** A list that is longer is left out: GitHub passes at most 1 MiB of outputs on to other jobs. */
const maxListBytes = 256 * 1024

/**
 * The summary of the job and the outputs of the step. @returns the names of outputs that were left out because they
 * are too long @throws FileError
 */
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
