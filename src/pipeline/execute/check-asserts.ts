import { readFile } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import { cannotRead } from '../../files/file-error.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { hasTransparentPixel } from '../../files/codecs.ts'
import { openSchemaChecker } from '../../operations/answer-schema.ts'
import { differenceSentence, imageDifferences, videoDifferences } from '../../operations/mismatch.ts'
import { bodyOf } from '../manifest/request-body.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'

export interface AssertedOutput {
  readonly path: string
  readonly facts: OutputFacts
}

/** Why a result is not what its instance asks for, each a sentence. What a lock holds is not judged again. */
export async function mismatchReasons(instance: Instance, outputs: readonly AssertedOutput[]) {
  const { lane, acceptsMismatch } = instance
  if (acceptsMismatch || lane === 'text') return []
  const body = bodyOf(instance)
  const reasons = outputs.map(async ({ path, facts }, at) => {
    const found = { ...facts, mime_type: facts.media_type }
    const differences =
      lane === 'video'
        ? videoDifferences(body, found, {})
        : await imageDifferences(body, found, {}, () => bytesOf(path))
    return differences.map((one) => differenceSentence(subjectOf(instance, outputs, at), one))
  })
  return (await Promise.all(reasons)).flat()
}

function subjectOf({ lane }: Instance, { length }: readonly AssertedOutput[], at: number): string {
  return length === 1 ? `The ${lane}` : `${capital(lane)} ${at + 1}`
}

type CheckContext = Pick<Context, 'cwd' | 'clock' | 'signal'>

/** How many schemas are kept compiled: each has a thread. */
const maxOpen = 4

export class AssertChecker {
  readonly #context: CheckContext
  readonly #open = new Map<string, Awaited<ReturnType<typeof openSchemaChecker>>>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(context: CheckContext) {
    this.#context = context
  }

  /** @param duplicateOf names another output that has these bytes @returns why the result is rejected, each a sentence */
  async check(
    instance: Instance,
    outputs: readonly AssertedOutput[],
    duplicateOf: (sha256: string) => string | undefined,
  ): Promise<string[]> {
    const reasons = outputs.map(async (output, at) => {
      const subject = subjectOf(instance, outputs, at)
      const twinOf = (sha256: string) => {
        const earlier = outputs.findIndex(({ facts }) => facts.sha256 === sha256)
        return earlier < at ? `${instance.lane} ${earlier + 1}` : duplicateOf(sha256)
      }
      const clauses = [
        ...factClauses(instance, output.facts, twinOf),
        ...(await alphaClauses(this.#context, instance, output)),
        ...(await this.#textClauses(instance, output)),
      ]
      return clauses.map((clause) => `${subject} ${clause}.`)
    })
    return (await Promise.all(reasons)).flat()
  }

  async #textClauses({ lane, asserts, fields }: Instance, { path }: AssertedOutput): Promise<string[]> {
    const { schema, min_chars: minChars, matches } = asserts
    const asked = fields['schema']?.kind === 'value' ? fields['schema'].value : undefined
    if (lane !== 'text' || (schema ?? asked ?? minChars ?? matches) === undefined) return []
    const text = (await bytesOf(path)).toString('utf8')
    const isShort = minChars !== undefined && characters(text) < minChars
    // A pattern may take any time, as those of schemas: it is checked in the same way.
    const pattern = matches === undefined ? undefined : { type: 'string', pattern: matches }
    return [
      ...(await this.#match(asked, text, 'the schema of the request')),
      ...(await this.#match(schema, text, 'the schema')),
      ...(isShort ? [`has ${characters(text)} characters, fewer than ${minChars}`] : []),
      ...(await this.#match(pattern, JSON.stringify(text), `/${matches}/`)),
    ]
  }

  /** One at a time: a thread does not say which text an answer is about, and is ended by one that takes too long. */
  async #match(schema: unknown, text: string, subject: string): Promise<string[]> {
    if (schema === undefined) return []
    const matched = this.#turn.then(() => this.#matchNow(schema, text, subject))
    this.#turn = matched.catch(() => {})
    return await matched
  }

  async #matchNow(schema: unknown, text: string, subject: string): Promise<string[]> {
    const key = JSON.stringify(schema)
    const checker = this.#open.get(key) ?? (await openSchemaChecker(this.#context, schema))
    this.#open.delete(key)
    this.#open.set(key, checker)
    for (const oldest of this.#open.keys()) if (this.#open.size > maxOpen) this.#end(oldest)
    if (checker.clause !== undefined) return [`cannot be checked: ${subject} ${checker.clause}`]
    const { clause, places } = await checker.check(text)
    if (clause !== undefined) {
      this.#end(key)
      return [`cannot be checked against ${subject}: it ${clause}`]
    }
    if (places === undefined) return []
    return [`does not match ${subject}${subject.startsWith('/') ? '' : `: ${places}`}`]
  }

  #end(key: string): void {
    this.#open.get(key)?.close()
    this.#open.delete(key)
  }

  close(): void {
    for (const key of this.#open.keys()) this.#end(key)
  }
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

function factClauses(
  { asserts }: Instance,
  { width, height, bytes, seconds, sha256 }: OutputFacts,
  twinOf: (sha256: string) => string | undefined,
): string[] {
  const { max_bytes: most, min_seconds: least } = asserts
  const differs = (wanted: number | undefined, found: number | null) =>
    wanted !== undefined && wanted !== found
  const shown = (found: number | null) => found ?? 'an unknown number of'
  const twin = asserts.not_duplicate === true ? twinOf(sha256) : undefined
  const clauses = [
    differs(asserts.width, width) && `is ${shown(width)} pixels wide, not ${asserts.width}`,
    differs(asserts.height, height) && `is ${shown(height)} pixels high, not ${asserts.height}`,
    most !== undefined && bytes > most && `has ${bytes} bytes, more than ${most}`,
    least !== undefined &&
      (seconds ?? -1) < least &&
      `plays for ${shown(seconds)} seconds, not at least ${least}`,
    twin !== undefined && `has the same bytes as ${twin}`,
  ]
  return clauses.filter((clause) => clause !== false)
}

/** Of a PNG or WebP a pixel has to be transparent, too: models send opaque pictures with an alpha channel. */
async function alphaClauses(
  context: CheckContext,
  { asserts: { has_alpha: wanted } }: Instance,
  { path, facts }: AssertedOutput,
): Promise<string[]> {
  if (wanted === undefined) return []
  const { hasAlpha } = await inspectAnyFile(context, path)
  if (hasAlpha === undefined) return [`is ${facts.media_type}, of which it is not known whether it has alpha`]
  const isOpaque = hasAlpha && (await hasTransparentPixel(await bytesOf(path))) === false
  if (wanted === (hasAlpha && !isOpaque)) return []
  if (!wanted) return ['has transparent pixels']
  return [isOpaque ? 'has an alpha channel, but no transparent pixel' : 'has no alpha channel']
}

/** Counted as the contract counts them: without an array, which would fill the memory. */
function characters(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

async function bytesOf(path: string): Promise<Buffer> {
  return await readFile(path).catch(cannotRead(path))
}
