import { expect } from 'vitest'
import { call, type Json } from '../support/running-sandbox.ts'
import { localServer } from '../support/local-server.ts'
import { runMain } from '../support/run-main.ts'
import type { ServerReply } from '../support/server-replies.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'

/** What the specification says of one field of a request, in literals. */
export interface FieldRow {
  readonly field: string
  /** How the command line gives it, where that is not the flag of its name. */
  readonly flags?: readonly string[]
  /** How it then stands in the body. */
  readonly value: unknown
  /** Other values that the specification allows. */
  readonly allowed?: readonly unknown[]
  /** Values that it does not allow. */
  readonly refused: readonly unknown[]
  /** What a body with this field needs besides. */
  readonly beside?: Readonly<Record<string, unknown>>
}

/** One endpoint as both sides have it. */
export interface EndpointUnderTest {
  readonly command: readonly string[]
  /** Words of the command line besides the row's own. */
  readonly words: readonly string[]
  readonly path: string
  /** A body that lacks nothing. */
  readonly body: Readonly<Record<string, unknown>>
}

const env = {
  MODELGATE_BASE_URL: 'http://127.0.0.1:8080',
  MODELGATE_TEXT_MODEL: 'sandbox-text',
  MODELGATE_API_KEY: 'key',
}

/** Runs a command up to the request, and gives its exit code and the request. */
export async function requestOf(
  argv: readonly string[],
): Promise<{ code: number; request: Json; err: string }> {
  const { code, out, err } = await runMain([...argv, '--dry-run', '--no-stdin'], {
    env,
    cwd: temporaryFolder(),
  })
  return { code, err, request: code === 0 ? (JSON.parse(out) as Json) : undefined }
}

/** `--tool-choice none`, `--metadata {"a":"b"}`, `--background`, `--no-store` */
function flagsOf(field: string, value: unknown): string[] {
  const name = field.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  if (typeof value === 'boolean') return [value ? `--${name}` : `--no-${name}`]
  return [`--${name}`, typeof value === 'string' ? value : JSON.stringify(value)]
}

/**
 * Where a side differs from the row: the program sends the field as its flag says, and both sides take what is allowed
 * (exit 0, status 200) and refuse what is not (exit 2, status 400).
 */
export async function differences(
  sandbox: Sandbox,
  endpoint: EndpointUnderTest,
  { field, value, flags = flagsOf(field, value), allowed = [], refused, beside = {} }: FieldRow,
): Promise<string[]> {
  const besides = Object.entries(beside).flatMap(([name, one]) => ['--set', `${name}=${JSON.stringify(one)}`])
  const start = [...endpoint.command, ...besides]
  const { code: sentCode, request } = await requestOf([...start, ...flags, ...endpoint.words])
  const sent = `${flags.join(' ')}: exit ${sentCode}, ${JSON.stringify(request?.body?.[field])}`
  const expected = `${flags.join(' ')}: exit 0, ${JSON.stringify(value)}`
  const found = sent === expected ? [] : [`${sent}; expected ${expected}`]
  const answers = async (given: unknown, code: number, status: number) => {
    const set = ['--set', `${field}=${JSON.stringify(given)}`]
    const run = await requestOf([...start, ...set, ...endpoint.words])
    const reply = await call(sandbox, endpoint.path, { ...endpoint.body, ...beside, [field]: given })
    if (run.code !== code) found.push(`${JSON.stringify(given)}: exit ${run.code}`)
    if (reply.status !== status) found.push(`${JSON.stringify(given)}: status ${reply.status}`)
  }
  for (const given of [value, ...allowed]) await answers(given, 0, 200)
  for (const given of refused) await answers(given, 2, 400)
  return found
}

const envFor = (url: string) => ({
  MODELGATE_BASE_URL: url,
  MODELGATE_TEXT_MODEL: 'm',
  MODELGATE_IMAGE_MODEL: 'image-model-a',
  MODELGATE_API_KEY: 'key',
})

/** The document that `--json` prints for a reply. */
export async function documentOf(
  argv: readonly string[],
  reply: ServerReply,
): Promise<{ code: number; err: string; document: Json }> {
  const server = await localServer([reply])
  const { code, out, err } = await runMain([...argv, '--json', '--no-stdin'], {
    env: { ...envFor(server.url), MODELGATE_STATE_DIR: temporaryFolder() },
    cwd: temporaryFolder(),
  })
  return { code, err, document: (out === '' ? JSON.parse(err) : JSON.parse(out)) as Json }
}

/** For a field that is an integer. */
export const isInteger: unknown = expect.toSatisfy(Number.isInteger)

/** The image models of the specification. */
export const [modelA, miniA, modelB, modelC] = [
  'image-model-a',
  'image-model-a-mini',
  'image-model-b',
  'image-model-c',
]
export const anyA = [modelA, miniA]

/** A value that only some image models take. */
interface FamilyRow {
  readonly field: string
  readonly value: unknown
  readonly beside: Json
  /** The models that take it, of A, its mini variant, B and C. */
  readonly takenBy: readonly string[]
}

/** Which models take each value of these fields, beside others, with the title of its test. */
export function rowsOf(
  takenBy: readonly string[],
  values: Readonly<Record<string, readonly unknown[]>>,
  beside: Json = {},
): (readonly [title: string, FamilyRow])[] {
  const besides = Object.entries(beside).map(([name, one]) => ` with ${name} ${String(one)}`)
  return Object.entries(values).flatMap(([field, list]) =>
    list.map((value) => {
      const shown = String(value).length > 20 ? `${String(value).length} characters` : String(value)
      const title = `${field} ${shown}${besides.join('')}: ${takenBy.join(', ') || 'no model'}`
      return [title, { field, value, beside, takenBy }] as const
    }),
  )
}

/** Where a side differs from a row: the exit code of the program and the status of the sandbox, by model. */
export async function familyDifferences(
  { field, value, beside, takenBy }: FamilyRow,
  models: readonly string[],
  codeOf: (fields: Json) => Promise<number>,
  statusOf: (fields: Json) => Promise<number>,
): Promise<unknown[]> {
  const found: unknown[] = []
  for (const model of models) {
    const fields = { prompt: 'a boat', model, ...beside, [field]: value }
    const isTaken = takenBy.includes(model)
    const code = await codeOf(fields)
    // To draw takes time: one picture is enough.
    const status = isTaken && model !== takenBy[0] ? 200 : await statusOf(fields)
    if (code !== (isTaken ? 0 : 2) || status !== (isTaken ? 200 : 400)) found.push([model, code, status])
  }
  return found
}

/** Flags that set fields whatever they hold. */
export function setFlags(fields: Json): string[] {
  return Object.entries(fields).flatMap(([name, value]) => ['--set', `${name}=${JSON.stringify(value)}`])
}
