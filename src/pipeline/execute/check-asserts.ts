import { readFile } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import { readError } from '../../files/file-error.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { hasTransparentPixel } from '../../files/codecs.ts'
import { listedPlaces, openSchemaChecker } from '../../operations/answer-schema.ts'
import { differenceSentence, imageDifferences, videoDifferences } from '../../operations/mismatch.ts'
import { bodyOf } from '../manifest/request-body.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'

export interface AssertedOutput {
  readonly path: string
  readonly facts: OutputFacts
}

/**
 * Why a result is not what its instance asks for, each a sentence (product.md, "What came is held against what was
 * asked"). What a lock holds is not judged again.
 * @throws FileError
 */
export async function mismatchReasons(
  instance: Instance,
  outputs: readonly AssertedOutput[],
): Promise<string[]> {
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
/** Finds out why a text does not match; empty when it does. @param subject names the schema */
type TextCheck = (schema: unknown, text: string, subject: string) => Promise<string[]>

/** Checks results against what their instances assert, one after another or at once; each schema is compiled once. */
export function openAsserts(context: CheckContext) {
  const { checkText, close } = createTextChecks(context)
  return {
    /**
     * A file is read only for asserts about what is in it.
     * @param duplicateOf the name of another output that has these bytes, if there is one
     * @returns why the result is rejected, each a sentence; empty when it holds all asserts, and its request's own schema
     * @throws FileError; the reason of the context's signal
     */
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
          ...(await alphaClauses(context, instance, output)),
          ...(await textClauses(instance, output, checkText)),
        ]
        return clauses.map((clause) => `${subject} ${clause}.`)
      })
      return (await Promise.all(reasons)).flat()
    },
    close,
  }
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

function factClauses(
  { asserts }: Instance,
  facts: OutputFacts,
  twinOf: (sha256: string) => string | undefined,
): string[] {
  const { max_bytes: most, min_seconds: least, not_duplicate: isUnique } = asserts
  const clauses: string[] = []
  for (const [side, adjective] of [
    ['width', 'wide'],
    ['height', 'high'],
  ] as const) {
    const [wanted, found] = [asserts[side], facts[side] ?? 'an unknown number of']
    if (wanted !== undefined && wanted !== found)
      clauses.push(`is ${found} pixels ${adjective}, not ${wanted}`)
  }
  if (most !== undefined && facts.bytes > most) clauses.push(`has ${facts.bytes} bytes, more than ${most}`)
  if (least !== undefined && (facts.seconds ?? -1) < least) {
    const found = facts.seconds ?? 'an unknown number of'
    clauses.push(`plays for ${found} seconds, not at least ${least}`)
  }
  const twin = isUnique === true ? twinOf(facts.sha256) : undefined
  return twin === undefined ? clauses : [...clauses, `has the same bytes as ${twin}`]
}

/**
 * An image has alpha when its format says so; a PNG or WebP only when a pixel is transparent, too: models send
 * opaque pictures with an alpha channel.
 */
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

async function textClauses(
  { lane, asserts, fields }: Instance,
  { path }: AssertedOutput,
  checkText: TextCheck,
): Promise<string[]> {
  const { schema, min_chars: minChars, matches } = asserts
  const asked = fields['schema']?.kind === 'value' ? fields['schema'].value : undefined
  const isAsked = schema ?? asked ?? minChars ?? matches
  if (lane !== 'text' || isAsked === undefined) return []
  const text = (await bytesOf(path)).toString('utf8')
  const length = minChars === undefined ? 0 : characters(text)
  return [
    ...(asked === undefined ? [] : await checkText(asked, text, 'the schema of the request')),
    ...(schema === undefined ? [] : await checkText(schema, text, 'the schema')),
    ...(minChars !== undefined && length < minChars
      ? [`has ${length} characters, fewer than ${minChars}`]
      : []),
    // A pattern may take any time, as those of schemas: it is checked in the same way.
    ...(matches === undefined
      ? []
      : await checkText({ type: 'string', pattern: matches }, JSON.stringify(text), `/${matches}/`)),
  ]
}

/** Counted as the contract counts them: without an array, which would fill the memory. */
function characters(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

async function bytesOf(path: string): Promise<Buffer> {
  return await readFile(path).catch((error: unknown) => {
    throw readError(error, path)
  })
}

/** How many schemas are kept compiled: each has a thread. */
const maxOpen = 4

function createTextChecks(context: CheckContext): { readonly checkText: TextCheck; close(): void } {
  const open = new Map<string, Awaited<ReturnType<typeof openSchemaChecker>>>()
  let turn: Promise<unknown> = Promise.resolve()
  const end = (key: string) => {
    const checker = open.get(key)
    if (checker?.kind === 'compiled') checker.close()
    open.delete(key)
  }
  const openChecker = async (schema: unknown) => {
    const key = JSON.stringify(schema)
    const checker = open.get(key) ?? (await openSchemaChecker(context, schema))
    open.delete(key)
    open.set(key, checker)
    for (const oldest of open.keys()) if (open.size > maxOpen) end(oldest)
    return checker
  }
  const checkOne: TextCheck = async (schema, text, subject) => {
    const checker = await openChecker(schema)
    if (checker.kind === 'unchecked') return [`cannot be checked: ${subject} ${checker.clause}`]
    const checked = await checker.check(text)
    if (checked.kind === 'unchecked') {
      end(JSON.stringify(schema))
      return [`cannot be checked against ${subject}: it ${checked.clause}`]
    }
    if (checked.count === 0) return []
    const isPattern = subject.startsWith('/')
    return [`does not match ${subject}${isPattern ? '' : `: ${listedPlaces(checked)}`}`]
  }
  return {
    // One at a time: a thread does not say which text an answer is about, and is ended by one that takes too long.
    checkText(...check) {
      const checked = turn.then(() => checkOne(...check))
      turn = checked.catch(() => {})
      return checked
    },
    close: () => [...open.keys()].forEach(end),
  }
}
