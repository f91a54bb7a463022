import { appendFileSync } from 'node:fs'
import type { Context } from '../../context.ts'
import type { RunDocument } from '../../events/run-document.ts'
import { writeError } from '../../files/file-error.ts'
import { absolutePath } from '../step-output.ts'

/** GitHub refuses a larger summary of a step. */
const maxSummaryBytes = 1024 * 1024

/**
 * In a step of GitHub Actions: writes the summary of the job and the outputs of the step, without being asked. Elsewhere
 * nothing.
 * @param summary makes the Markdown; called only where it is wanted
 * @throws FileError when the runner's files cannot be written
 */
export async function writeStepResults(
  context: Pick<Context, 'env' | 'cwd' | 'platform'>,
  document: RunDocument,
  summary: () => Promise<string>,
): Promise<void> {
  const { env } = context
  if (env['GITHUB_ACTIONS'] !== 'true') return
  const { GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: page } = env
  if (output) append(absolutePath(context, output), outputsOf(document))
  if (!page) return
  const text = await summary()
  if (Buffer.byteLength(text) <= maxSummaryBytes) append(absolutePath(context, page), `${text}\n`)
}

/** Numbers and words of this program alone: nothing in them can begin another output. */
function outputsOf({ instances, states, creates }: RunDocument): string {
  const failed = instances.filter(({ action }) => action === 'failed' || action === 'unknown').length
  const left = instances.length - states.fresh
  const outputs = { up_to_date: left === 0, created: creates.made, failed, left }
  return Object.entries(outputs)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function append(file: string, text: string): void {
  try {
    appendFileSync(file, text)
  } catch (error) {
    throw writeError(error, file)
  }
}
