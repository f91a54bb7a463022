import { resolve } from 'node:path'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { settleImages } from '../../../operations/image-records.ts'
import { objectOf } from '../../../json.ts'
import { imageRequest, type ImageRequest } from '../../../operations/image-request.ts'
import { fetchImages } from '../../../operations/make-images.ts'
import { createProblemList } from '../../../problems.ts'
import { runOperation } from '../call/run-operation.ts'
import type { FoundJob } from '../jobs/named-job.ts'
import { resumeCommand } from '../jobs/resume-command.ts'
import { isDryRun } from '../options/common-options.ts'
import type { VideoOptions } from './video-command.ts'
import { checkCombination, imagePlan } from './image-command.ts'

/**
 * Fetches images that are on record, into this command's `-o`, otherwise into that of the command that made them.
 * @throws AlreadyReported for a failure; UsageError, FileError before anything is asked for
 */
export async function fetchRecordedImages(
  context: Context,
  { named, given, options, settings, gate, store }: FoundJob<VideoOptions, 'image'>,
): Promise<void> {
  if (isDryRun(options) || options.raw) {
    throw new UsageError(
      '--dry-run, --curl and --raw show requests to the gateway; an image is only downloaded from its URL.',
    )
  }
  checkCombination(context, { ...options, download: true })
  const { id } = named
  const stored = named.stored!
  const { record } = stored
  const made = record.made!
  const { cwd, output, folder, force } = record.output
  const inFolder = (path: string) =>
    cwd === context.cwd ? path : `${resolve(cwd, path)}${/\/$/.exec(path) ?? ''}`
  const plan = {
    ...imagePlan({ ...options, download: true }, settings),
    output: options.output ?? (output === null || output === '-' ? undefined : inFolder(output)),
    folder: folder === null ? undefined : inFolder(folder),
    force: options.force === true || force,
  }
  const problems = createProblemList()
  const request = await imageRequest(
    context,
    {
      command: record.command as ImageRequest['command'],
      model: record.model,
      family: undefined,
      body: { ...objectOf(record.request), prompt: stored.prompt() },
      images: [],
      mask: undefined,
      warnings: [],
      validate: false,
    },
    plan,
    problems,
  )
  problems.throwIfAny()
  const resume = resumeCommand(context, given, new Map([[id, id]]))
  await runOperation(context, options, settings, {
    gate,
    logged: { command: 'wait', model: record.model, jobs: [id] },
    output: () => ({ result: 'files' }),
    async operation(call) {
      const wanted = made.images.map(({ index }) => index)
      const outcome = await fetchImages(call, { ...request, wanted }, plan, made, resume(id))
      await settleImages(store, stored, outcome)
      return outcome
    },
  })
}
