import { type Command, Option } from 'commander'
import { addJobOptions, type FoundJob } from './named-job.ts'
import { numberOption, type CommonOptions } from '../options/common-options.ts'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { shownPath } from '../../../files/file-error.ts'
import { safeFileName } from '../../../files/file-name.ts'
import {
  responseCancellation,
  responseLookUp,
  responseStream,
} from '../../../gateway/responses/background.ts'
import { objectOf } from '../../../json.ts'
import { compileAnswerSchema } from '../../../operations/answer-schema.ts'
import { cancelBackground, waitForResponse } from '../../../operations/background-response.ts'
import { parseJsonFileFlag } from '../request/flag-values.ts'
import { resumeCommand, waitLimits } from './resume-command.ts'
import { runOperation } from '../call/run-operation.ts'
import { openOutputFile, textOutput, textPlan, type TextOutputFlags } from '../text/text-command.ts'

export interface ResponseOptions extends CommonOptions, TextOutputFlags {
  last?: true
  stream?: true
  startingAfter?: number
  schema?: string
  pollInterval?: string
}

export function addAnswerOptions(command: Command): void {
  addJobOptions(command, [
    new Option('--stream', 'stream the answer instead of polling until it is complete'),
    numberOption('--starting-after <number>', 'stream only the events after this sequence number'),
    new Option(
      '--schema <json>',
      'JSON Schema of an answer: JSON, @file or a file name; the answer is checked',
    ),
  ])
}

export const optionsOfResponses = 'dryRun curl json jsonl raw githubOutput gateway messages'

type FoundResponse = FoundJob<ResponseOptions, 'response'>

/** Waits for a background response and prints its answer, or cancels it. */
export async function followUp(job: FoundResponse, command: 'wait' | 'cancel'): Promise<void> {
  const { context, named, given, settings, names } = job
  const wait = command === 'wait' ? await planWait(job) : undefined
  const warnings: string[] = []
  const resume = resumeCommand(context, given, names)
  const plan = { ...textPlan(job), resume, ...waitLimits(context, settings) }
  await runOperation(job, {
    streamed: wait?.streamed === true,
    logged: { command, model: named.stored?.record.model || null, jobs: [named.id] },
    describeRequest(gateway) {
      if (wait === undefined) return responseCancellation(gateway, named.id)
      const { streamed, after } = wait
      return (streamed ? responseStream : responseLookUp)(gateway, named.id, after)
    },
    async output() {
      if (wait === undefined) return { result: 'job' }
      return await textOutput(job, await openAnswerFile(job, (warning) => void warnings.push(warning)))
    },
    rescue: wait && 'response.txt',
    operation: (call) =>
      wait === undefined
        ? cancelBackground(call, named, plan)
        : waitForResponse(call, named, { ...plan, ...wait, warnings }),
  })
}

async function planWait({ context, options, named: { stored } }: FoundResponse) {
  const { stream, startingAfter, schema } = options
  const asked = stored?.record.checks_schema ? objectOf(stored.record.request)['text'] : undefined
  const recorded = objectOf(objectOf(asked)['format'])['schema']
  const expected = schema === undefined ? recorded : await parseJsonFileFlag(context, '--schema', schema)
  return {
    streamed: stream === true || startingAfter !== undefined,
    after: startingAfter ?? -1,
    answerSchema: expected === undefined ? undefined : await compileAnswerSchema(context, expected),
  }
}

/**
 * To this command's `-o`, in a folder under the id of the response; otherwise to that of the command that started the response,
 * where a file that has appeared meanwhile is left alone.
 */
async function openAnswerFile(
  { context, options, named: { id, stored } }: FoundResponse,
  warn: (message: string) => void,
) {
  if (options.output !== undefined) {
    const given = options.output.replaceAll('{id}', safeFileName(id))
    const isFolder =
      /[/\\]$/.test(given) || (await stat(resolve(context.cwd, given)).catch(() => undefined))?.isDirectory()
    return await openOutputFile(context, {
      ...options,
      output: isFolder ? `${given.replace(/[/\\]$/, '')}/${safeFileName(id)}.txt` : given,
    })
  }
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
