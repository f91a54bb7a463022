import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, type ModelgateError, UsageError } from '../errors.ts'
import type { AnyJobs, JobRecord } from '../files/jobs/job-record.ts'
import type { JobStore } from '../files/jobs/job-store.ts'
import { isLeftToFetch, openImages, openJobs, openResponses } from '../operations/jobs.ts'
import { createGate } from '../output/gate.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption } from './shared/jobs/named-job.ts'
import { fetchRecordedImages } from './shared/media/recorded-images.ts'
import { waitOptions, type VideoOptions } from './shared/media/video-command.ts'
import { lookUpJob, optionsOfLookUps } from './shared/media/video-look-up.ts'
import { addShared, strictMeanings } from './shared/options/common-options.ts'
import { addAnswerOptions, followUp, type ResponseOptions } from './shared/text/response-command.ts'
import { addTextOutputOptions, takeLanguage } from './shared/text/text-command.ts'
import { sharedName, waitForJobs } from './video-wait.ts'

type WaitOptions = VideoOptions & ResponseOptions & { all?: true }

const waitExamples: readonly Example[] = [
  ['modelgate wait --last'],
  ['modelgate wait video_123 -o clip.mp4'],
  ['modelgate wait --all -o results/'],
]

/** `modelgate wait`: takes what is not here yet: videos, background responses, images at an address. */
export function registerWait(command: Command, context: Context): void {
  addExamples(command, waitExamples)
  addShared(command, optionsOfLookUps, strictMeanings.videos)
  command
    .argument('[id...]', 'ids, or the beginnings of them')
    .action(async (given: string[], _: unknown, self: Command) => {
      const { options, words } = await takeLanguage(self.optsWithGlobals<WaitOptions>(), given, 'wait')
      await waitFor(context, options, words)
    })
  addTextOutputOptions(command)
  addJobOptions(command, [
    lastOption(),
    new Option('--all', 'everything on record that has not been fetched'),
    ...waitOptions(),
  ])
  addAnswerOptions(command)
}

type Family = 'image' | 'response' | 'video'

/** What is waited for; without an id it is the newest of its family. */
interface Target {
  readonly family: Family
  readonly id: string | undefined
}

/** @throws AlreadyReported for a failure; UsageError, FileError before anything is asked for */
async function waitFor(context: Context, options: WaitOptions, ids: readonly string[]): Promise<void> {
  if (Number(options.all === true) + Number(options.last === true) + Number(ids.length > 0) > 1) {
    throw new UsageError('Give ids, --last or --all, not several of them.', { code: 'invalid_request' })
  }
  const targets = await findTargets(context, options, ids)
  refuseForAnswers(options, targets)
  const [only] = targets
  if (targets.length === 1) return await waitForOne(context, options, only!)
  const groups = Map.groupBy(targets, ({ family }) => family)
  const videos = groups.get('video') ?? []
  const others = [...(groups.get('image') ?? []), ...(groups.get('response') ?? [])]
  refuseForSeveral(context, options, others.length + Number(videos.length > 0))
  const videoIds = videos.map(({ id }) => id!)
  const { all: _, ...withoutAll } = options
  if (others.length === 0) return await waitForJobs(context, withoutAll, videoIds)
  const waits = [
    ...others.map((target) => () => waitForOne(context, options, target)),
    ...(videos.length > 0 ? [() => waitForJobs(context, withoutAll, videoIds)] : []),
  ]
  const failures: ModelgateError[] = []
  for (const wait of waits) {
    try {
      await wait()
    } catch (error) {
      if (!(error instanceof AlreadyReported) || context.signal.aborted) throw error
      failures.push(error.cause as ModelgateError)
    }
  }
  const [first] = failures
  if (first === undefined) return
  const isOneReason = failures.length === waits.length && failures.every(({ exit }) => exit === first.exit)
  const exit = failures.some(({ exit }) => exit === 'running')
    ? 'running'
    : isOneReason
      ? first.exit
      : 'partial'
  throw new AlreadyReported(first.amend({ exit }))
}

/** @throws UsageError for what concerns the text of a response, where there is none among them */
function refuseForAnswers(
  { stream, startingAfter, schema, extract, render }: WaitOptions,
  targets: readonly Target[],
): void {
  const flags = { '--stream': stream, '--starting-after': startingAfter, '--schema': schema, '-x': extract }
  const given = Object.entries({ ...flags, '--render': render }).filter(([, value]) => value !== undefined)
  if (given.length === 0 || targets.length === 0 || targets.some(({ family }) => family === 'response'))
    return
  throw new UsageError(given.map(([flag]) => `${flag} applies to a background response.`))
}

/** @throws UsageError for what makes sense for one result only */
function refuseForSeveral({ cwd }: Context, { output, json }: WaitOptions, documents: number): void {
  if (json && documents > 1) {
    throw new UsageError('--json prints one document, and these are of several kinds: use --jsonl.', {
      code: 'invalid_request',
    })
  }
  if (output === undefined || /[/\\]$|\{id\}/.test(output)) return
  if (statSync(resolve(cwd, output), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw sharedName(output)
}

function waitForOne(context: Context, options: WaitOptions, { family, id }: Target): Promise<void> {
  if (family === 'image') return fetchRecordedImages(context, options, id)
  if (family === 'video') return lookUpJob(context, options, id, 'video wait')
  return followUp(context, options, id, 'response wait')
}

/** @throws UsageError without a job, for an id that several begin with, or that is of an image and not on record */
async function findTargets(
  context: Context,
  { all, last }: WaitOptions,
  ids: readonly string[],
): Promise<Target[]> {
  const gate = createGate(context)
  const folder = stateFolder(context)
  const stores = [
    ['image', openImages(context, folder, gate)],
    ['response', openResponses(context, folder, gate)],
    ['video', openJobs(context, folder, gate)],
  ] as const
  const now = context.clock.now() / 1000
  if (all) {
    const found = await Promise.all(
      stores.map(async ([family, store]) => {
        const { jobs } = await (store as JobStore<AnyJobs>).list()
        return jobs.flatMap(({ record }) =>
          record.id !== null && isLeftToFetch(record, now) ? [{ family, id: record.id }] : [],
        )
      }),
    )
    return found.flat()
  }
  if (last || ids.length === 0) {
    const newest: { readonly family: Family; readonly record: JobRecord<AnyJobs> }[] = []
    for (const [family, store] of stores) {
      const found = await (store as JobStore<AnyJobs>).last()
      if (found !== undefined) newest.push({ family, record: found.record })
    }
    newest.sort((one, other) => other.record.created_at - one.record.created_at)
    return [{ family: newest[0]?.family ?? 'video', id: undefined }]
  }
  const targets: Target[] = []
  for (const id of ids) {
    let family: Family = id.startsWith('resp_') ? 'response' : id.startsWith('image_') ? 'image' : 'video'
    for (const [name, store] of stores) if ((await store.find(id)) !== undefined) family = name
    targets.push({ family, id })
  }
  return targets
}
