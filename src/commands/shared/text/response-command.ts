import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { stateFolder } from '../../../config/paths.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { shownPath } from '../../../files/file-error.ts'
import {
  responseCancellation,
  responseLookUp,
  responseStream,
} from '../../../gateway/responses/background.ts'
import type { Gateway, GatewayRequest } from '../../../gateway/gateway.ts'
import { objectOf } from '../../../json.ts'
import { compileAnswerSchema, type AnswerSchema } from '../../../operations/answer-schema.ts'
import { openResponses } from '../../../operations/jobs.ts'
import {
  cancelBackground,
  lookUpState,
  waitForResponse,
  type NamedResponse,
} from '../../../operations/look-up-response.ts'
import { createGate } from '../../../output/gate.ts'
import { createProblemList } from '../../../problems.ts'
import type { CommonOptions } from '../options/common-options.ts'
import { addJobOptions, findNamedJob, refuseUnwritten } from '../jobs/named-job.ts'
import { parseJsonFileFlag } from '../request/request-body.ts'
import { learnName, resumeResponse, waitLimits, type JobNames } from '../jobs/resume-command.ts'
import { runOperation } from '../call/run-operation.ts'
import { openOutputFile, textOutput, type TextOutputFlags } from './text-command.ts'

/** The options of the commands for one background response. */
export interface ResponseOptions extends CommonOptions, TextOutputFlags {
  last?: true
  wait?: true
  exitStatus?: true
  stream?: true
  startingAfter?: string
  schema?: string
  pollInterval?: string
}

/** Adds the options for the answer of a background response. */
export function addAnswerOptions(command: Command): void {
  addJobOptions(command, [
    new Option('--stream', 'stream the answer instead of polling until it is complete'),
    new Option('--starting-after <number>', 'stream only the events after this sequence number'),
    new Option(
      '--schema <json>',
      'JSON Schema of an answer: JSON, @file or a file name; the answer is checked',
    ),
  ])
}

type ResponseCommand = 'response status' | 'response wait' | 'response cancel'

/** The shared options of every look-up of a response. */
export const optionsOfResponses = 'dryRun curl json jsonl raw githubOutput gateway messages'

/** Looks up a background response, waits for it, or cancels it. */
export async function followUp(
  context: Context,
  given: ResponseOptions,
  text: string | undefined,
  command: ResponseCommand,
): Promise<void> {
  const waits = command === 'response wait' || given.wait === true
  refuseUnwritten(given, waits)
  const gate = createGate(context)
  const store = openResponses(context, stateFolder(context), gate)
  const { named, options, settings } = await findNamedJob(context, store, given, text, {
    unrecorded: (id): NamedResponse => ({ id, stored: undefined }),
    toGive: 'the id of a response',
  })
  const names: JobNames = new Map()
  if (named.stored !== undefined) await learnName(context, store, names, named.id)
  const wait = waits ? await planWait(context, options, named) : undefined
  const warnings: string[] = []
  const plan = {
    folder: settings.outputDir.value ?? '.',
    keepsResponse: options.json === true || options.jsonl === true,
    strict: options.strict === true,
    resume: resumeResponse(context, given, { names }),
    ...waitLimits(context, settings),
  }
  await runOperation(context, options, settings, {
    streamed: wait?.streamed === true,
    gate,
    ...(waits || command === 'response cancel'
      ? { logged: { command, model: named.stored?.record.model || null, jobs: [named.id] } }
      : {}),
    describeRequest: (gateway) => ({ request: requestOf(gateway, command, named, wait) }),
    async output() {
      if (wait === undefined) return { result: 'job' }
      const file = await openAnswerFile(context, options, named, (warning) => void warnings.push(warning))
      return await textOutput(context, options, settings, file)
    },
    rescue: wait && 'response.txt',
    operation(call) {
      if (wait !== undefined) return waitForResponse(call, named, { ...plan, ...wait, warnings })
      if (command === 'response cancel') return cancelBackground(call, named, plan)
      return lookUpState(call, named, { ...plan, reportsState: options.exitStatus === true })
    },
  })
}

interface WaitPlan {
  readonly streamed: boolean
  readonly after: number
  readonly answerSchema: AnswerSchema | undefined
}

/** @throws UsageError with everything that is wrong with the options */
async function planWait(
  context: Context,
  { stream, startingAfter, schema }: ResponseOptions,
  { stored }: NamedResponse,
): Promise<WaitPlan> {
  const problems = createProblemList()
  const after = await problems.check(() => parsePlace(startingAfter))
  const answerSchema = await problems.check(async () => {
    if (schema !== undefined)
      return await compileAnswerSchema(context, await parseJsonFileFlag(context, '--schema', schema))
    const asked = stored?.record.checks_schema ? objectOf(stored.record.request)['text'] : undefined
    const recorded = objectOf(objectOf(asked)['format'])['schema']
    return recorded === undefined ? undefined : await compileAnswerSchema(context, recorded)
  })
  problems.throwIfAny()
  return { streamed: stream === true || startingAfter !== undefined, after: after ?? -1, answerSchema }
}

function parsePlace(text: string | undefined): number {
  if (text === undefined) return -1
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(
    `--starting-after must be the number of an event, a whole number from 0, not ${JSON.stringify(text)}.`,
  )
}

function requestOf(
  gateway: Gateway,
  command: ResponseCommand,
  { id }: NamedResponse,
  wait: WaitPlan | undefined,
): GatewayRequest {
  if (wait?.streamed) return responseStream(gateway, id, wait.after)
  return command === 'response cancel' ? responseCancellation(gateway, id) : responseLookUp(gateway, id)
}

/**
 * The answer goes to this command's `-o`, otherwise to that of the command that started the response; a file that has
 * appeared there meanwhile is left alone.
 */
async function openAnswerFile(
  context: Context,
  options: ResponseOptions,
  { stored }: NamedResponse,
  warn: (message: string) => void,
) {
  if (options.output !== undefined) return await openOutputFile(context, options)
  const { output = null, cwd = '', force = false } = stored?.record.output ?? {}
  if (output === null || output === '-') return undefined
  const path = resolve(cwd, output)
  const isThere = (await stat(path).catch(() => undefined)) !== undefined
  if (isThere && !force && !options.force) {
    warn(`${shownPath(path)} exists already, so the answer is printed; --force overwrites the file.`)
    return undefined
  }
  return await openOutputFile(context, { ...options, output: path, ...(force ? { force } : {}) })
}
