import { join } from 'node:path'
import { mismatchReasons } from '../execute/check-asserts.ts'
import type { LockBlock, OutputFacts, Result } from '../lock/lock-block.ts'
import { shownSource, sourcesOf, type Instance } from '../manifest/manifest.ts'
import { foldedPath, placeOutputs } from '../manifest/output-paths.ts'
import { keysOf, type InstanceKeys } from './instance-key.ts'
import {
  checkOutputs,
  findResult,
  obstaclesOf,
  type OutputCheck,
  holdOf,
  upstreamOf,
  whyUnknown,
  type Assessments,
  type Upstream,
} from './result-files.ts'
import type { Assessment, ProjectState, Variant } from './project-state.ts'

/**
 * Compares an instance with lock, files, results and journals. The first of these decides: a file that was changed by hand
 * or is in the way, whatever the key; what is locked with this key, or frozen; an upstream that is not known; what
 * journals and results know of the key.
 * @throws FileError
 */
export async function assess(
  instance: Instance,
  project: ProjectState,
  assessments: Assessments,
): Promise<Assessment> {
  const subject = await createSubject(instance, project, assessments)
  const { found, known, base, checks } = subject
  if (!project.forced.force) {
    const edited = checks.flatMap((check) => check.edited ?? [])
    if (edited.length > 0) {
      const reasons = edited.map((path) => `${path} differs from the lock.`)
      return (await assessPlaced(subject, edited)) ?? { ...base, state: 'changed', reasons }
    }
    const obstacles = checks.flatMap((check) => check.obstacle ?? [])
    if (obstacles.length > 0) return inTheWay(subject, obstacles)
  }
  if (found !== null && isWanted(subject, found)) return await assessLocked(subject, found)
  if (found !== null && isAdopted(subject, found)) return await assessAdopted(subject, found)
  if (known === undefined || instance.isFrozen) return await assessHeldUp(subject)
  return await assessVariants(subject, known)
}

/**
 * Files that are not as locked because they are what is wanted now: a process put a known result in place, and was killed
 * before it was locked. Undefined where they are anything else.
 */
async function assessPlaced(subject: Subject, edited: readonly string[]): Promise<Assessment | undefined> {
  const { known, instance, found, project } = subject
  if (known === undefined || found === null || instance.isFrozen) return undefined
  if (isWanted(subject, found) && !project.history.remade.has(found.block.key)) return undefined
  const wanted = await assessVariants(subject, known)
  // With other bytes at one of these paths it would be in the way.
  const places = wanted.restore?.result.outputs.map(({ path }) => path) ?? []
  return edited.every((path) => places.includes(path)) ? wanted : undefined
}

function isWanted({ instance, project }: Subject, { block, variant }: FoundBlock): boolean {
  if (instance.isFrozen) return true
  if (variant === null || project.forced.regenerate.has(instance.id)) return false
  // A regeneration that is under way.
  if (project.history.discarded.has(block.key) && project.history.isOpen(block.key)) return false
  if (instance.pick !== null) return instance.pick === variant
  // Of what was the only result, the others are to be candidates as well; among new candidates a choice is to be made.
  const { history } = project
  const isUnderWay = history.discarded.has(block.key) && history.unfinished !== null
  const isChosen = block.picked !== null && !isUnderWay && !history.remade.has(block.key)
  return instance.variants === 1 || isChosen
}

/** What is locked is wanted: its files are there, or can be restored, or are lost. */
async function assessLocked(subject: Subject, { id, block }: FoundBlock): Promise<Assessment> {
  const { instance, project, base, checks } = subject
  const outputs = checks.map(({ facts }) => facts)
  const locked = { ...base, key: block.key, fields: instance.isFrozen ? block.fields : base.fields }
  const lost: string[] = []
  const files: string[] = []
  for (const { facts, isInPlace } of checks) {
    const own = isInPlace ? [join(project.manifest.project.outputFolder, facts.path)] : undefined
    const found = own ?? (await findResult(block.key, { outputs: [facts] }, project))
    if (found === undefined) lost.push(`${facts.path} is missing, and its bytes are not in .modelgate.`)
    else files.push(...found)
  }
  if (lost.length > 0) return { ...locked, state: 'lost', reasons: lost }
  // It was locked as it is, so that only an assert can have changed, or what is made of it.
  const isAsserted = Object.keys(instance.asserts).length > 0 || hasElements(instance, project)
  const failed = isAsserted ? await failedAsserts(instance, outputs, files, project) : []
  if (failed.length > 0) return { ...locked, state: 'rejected', reasons: failed }
  const isMoved = checks.some(({ facts, from }) => facts.path !== from)
  if (!isMoved && id === instance.id && checks.every(({ isInPlace }) => isInPlace)) {
    return { ...locked, state: 'fresh' }
  }
  const renamed = id === instance.id ? [] : [`It was ${id} before.`]
  return {
    ...locked,
    state: 'restorable',
    reasons: [...renamed, ...checks.flatMap(whatHappened)],
    restore: { result: { ...block, outputs }, picked: block.picked },
    moves: checks
      .filter(({ isLeftBehind, from, facts }) => isLeftBehind && mayLeave(from, facts.path, project))
      .map(({ from, facts }) => ({ from, to: facts.path })),
  }
}

/** Where another output belongs, the old file is replaced; a name that differs in case alone is to be a new one. */
function mayLeave(from: string, to: string, project: ProjectState): boolean {
  return foldedPath(from) === foldedPath(to) || !project.isOutput(from)
}

/** Whether a person has adopted what is locked, for another request, and nobody has asked for a new one since. */
function isAdopted({ instance, project, known, base }: Subject, { block, variant }: FoundBlock): boolean {
  if (block.adopted === null || variant !== null || known === undefined || base.key === null) return false
  const { history, forced } = project
  const isAskedFor = forced.regenerate.has(instance.id) || history.remade.has(base.key)
  return !isAskedFor && !history.isOpen(base.key) && !history.discarded.has(base.key)
}

/** The request has changed since a person adopted the file: it is kept, and put back where it is gone. */
async function assessAdopted(subject: Subject, found: FoundBlock): Promise<Assessment> {
  const locked = await assessLocked(subject, found)
  if (locked.state !== 'fresh' && locked.restore === null) return locked
  const fields = locked.restore === null ? locked.fields : found.block.fields
  const reasons = [...whyStale(subject), `It was adopted by ${found.block.adopted}.`]
  return { ...locked, state: 'adopted', fields, reasons: [...reasons, ...locked.reasons] }
}

function whatHappened({ facts: { path }, from, isInPlace, isLeftBehind }: OutputCheck): string[] {
  if (path !== from && (isInPlace || isLeftBehind)) return [`${from} is to be ${path}.`]
  return isInPlace ? [] : [`${path} is missing.`]
}

function hasElements({ id }: Instance, { manifest }: ProjectState): boolean {
  return manifest.fanOuts.some(({ source }) => source.instance === id)
}

/** Nothing can be made: the key is not known yet, or the instance is frozen and nothing is locked of it. */
async function assessHeldUp(subject: Subject): Promise<Assessment> {
  const { instance, project, upstreams, found, base } = subject
  const { waiting } = instance
  const blocked = (reason: string): Assessment => ({ ...base, state: 'blocked', reasons: [reason] })
  // What stands still outlasts what is only to be made first.
  const unknown = upstreams.filter((one) => one.found === undefined).map(whyUnknown)
  const isBlocked = unknown.some((one) => one.state === 'blocked')
  const state = isBlocked ? 'blocked' : 'pending'
  const reasons = unknown.flatMap((one) => (one.state === state ? one.reason : []))
  if (waiting !== undefined) {
    const { text } = instance.references[0]!
    if (waiting.problem === null && !isBlocked && reasons.length > 0) {
      return { ...base, state, reasons: [`After ${text}: one for each element, at most ${waiting.most}.`] }
    }
    return blocked(waiting.problem ?? reasons[0] ?? (await firstHold(subject)) ?? `${text} cannot be read.`)
  }
  if (found === null && !project.forced.force) {
    const obstacles = await obstaclesOf(instance, null, project)
    if (obstacles.length > 0) return inTheWay(subject, obstacles)
  }
  return instance.isFrozen ? blocked('It is frozen, and none of it is locked.') : { ...base, state, reasons }
}

type Examined = Variant & VariantState

/** What is locked, if anything, is not what is wanted: what there is of the wanted variants decides. */
async function assessVariants(subject: Subject, known: InstanceKeys): Promise<Assessment> {
  const { instance, project } = subject
  const picked = instance.pick
  const keys = picked === null ? known.keys.slice(0, instance.variants) : [known.keys[picked - 1]!]
  const variants: Examined[] = []
  for (const [at, key] of keys.entries()) {
    variants.push({ number: picked ?? at + 1, key, ...(await examineVariant(instance, key, project)) })
  }
  const { key, result } = variants[0]!
  const only = variants.length === 1 ? result : undefined
  const outputs = only === undefined ? null : placeOutputs(instance, only, project.now)
  const obstacles = project.forced.force ? [] : await obstaclesOf(instance, outputs, project)
  if (obstacles.length > 0) return inTheWay(subject, obstacles)
  const base = { ...subject.base, key }
  for (const state of ['unknown', 'lost'] as const) {
    const held = variants.filter(({ kind }) => kind === state)
    if (held.length === 0) continue
    const reasons = [...new Set(held.flatMap((one) => one.reasons))]
    return { ...base, state, reasons, isElsewhere: held.some(({ isElsewhere = false }) => isElsewhere) }
  }
  if (only !== undefined && outputs !== null) {
    const wasRejected = Boolean(project.history.results.get(key)?.rejected)
    const reason = wasRejected ? 'It was rejected, and is accepted now.' : 'Its result was made before.'
    const restore = { result: { ...only, outputs }, picked }
    return { ...base, state: 'restorable', reasons: [reason], restore }
  }
  return await assessMissing({ ...subject, base }, variants)
}

/** At least one of the wanted variants is missing, or none can be the output as it is. */
async function assessMissing(subject: Subject, variants: readonly Examined[]): Promise<Assessment> {
  const { found, base } = subject
  const details = variants.flatMap(({ number, reasons }) =>
    variants.length === 1 ? reasons : reasons.map((reason) => `Candidate ${number}: ${reason}`),
  )
  const missing = variants.filter(({ kind }) => kind === 'missing' || kind === 'unfetched')
  const there = variants.filter(({ kind }) => kind === 'there')
  const toMake = missing.map(({ number, key }) => ({ number, key }))
  const hold = missing.length > 0 ? await firstHold(subject) : null
  if (hold !== null) return { ...base, state: 'blocked', reasons: [hold] }
  if (there.length > 0) {
    const numbers = there.map(({ number }) => number).join(', ')
    const reasons = [`Candidates to pick from: ${numbers}.`, ...details]
    return { ...base, state: 'awaiting', reasons, toMake }
  }
  if (missing.length === 0) return { ...base, state: 'rejected', reasons: details }
  if (missing.every(({ kind }) => kind === 'unfetched')) {
    return { ...base, state: 'unfetched', reasons: details, toMake }
  }
  const why = found === null ? [] : whyStale(subject)
  return { ...base, state: found === null ? 'new' : 'stale', reasons: [...why, ...details], toMake }
}

async function firstHold({ upstreams, project }: Subject): Promise<string | null> {
  for (const upstream of upstreams) {
    const hold = await holdOf(upstream, project)
    if (hold !== null) return hold
  }
  return null
}

/** Why what is locked is not what is wanted, whose key is known. */
function whyStale({ instance, project, found, known }: Subject): readonly string[] {
  if (project.forced.regenerate.has(instance.id)) return ['It is to be generated again.']
  const changes = explainKey(instance, found!.block.fields, known!.fields)
  if (changes.length > 0) return changes
  if (found!.variant === null) return ['What is locked is another variant.']
  return instance.pick === null ? ['It is being generated again.'] : [`\`pick\` is ${instance.pick} now.`]
}

/** What there is of one variant of an instance whose key is not the locked one. */
interface VariantState {
  /**
   * `there`: it is what was asked for and asserted. `lost`: it was made and billed, and cannot be fetched. `unfetched`: it
   * can. `missing`: it is to be generated, or continued.
   */
  readonly kind: 'there' | 'rejected' | 'unknown' | 'lost' | 'unfetched' | 'missing'
  readonly reasons: readonly string[]
  /** Of one that is there. */
  readonly result?: Result
  /** It was given to a queue that is not the one asked, and workers may be at it, or have made it. */
  readonly isElsewhere?: boolean
}

/** The exit code of a reply that breaks the contract, among it a result that came whole and is damaged. */
const damagedExit = 8

const as = (kind: VariantState['kind'], ...reasons: string[]): VariantState => ({ kind, reasons })

/** Looks for the result of a key in its folder, the journals and the lock. */
export async function examineVariant(
  instance: Instance,
  key: string,
  project: ProjectState,
): Promise<VariantState> {
  const { history, forced } = project
  if (forced.regenerate.has(instance.id)) return as('missing')
  if (history.isOpen(key)) return examineOpen(instance, key, project)
  for (const result of await knownResults(key, project)) {
    const files = await findResult(key, result, project)
    if (files === undefined) continue
    const isLocked = project.lockedByKey.has(key)
    const reasons = [
      ...(isLocked ? [] : await mismatchReasons(instance, foundOutputs(result.outputs, files))),
      ...(await failedAsserts(instance, result.outputs, files, project)),
    ]
    return reasons.length === 0 ? { ...as('there'), result } : as('rejected', ...reasons)
  }
  const rejected = history.results.get(key)?.rejected ?? null
  if (rejected !== null) return as('rejected', ...rejected, 'Its files are gone.')
  const failure = history.failures.get(key)
  if (failure !== undefined) {
    // What came in the reply itself, and is damaged, cannot be asked for again either.
    const isDamaged = failure.billed === 'yes' && failure.exit_code === damagedExit
    return failure.code === 'result_expired' || isDamaged
      ? as('lost', `It was made and billed. ${failure.message}`)
      : as('missing', `It failed before: ${failure.message}`)
  }
  const [line] = history.damaged
  return line === undefined || history.discarded.has(key) || instance.onUnknown === 'retry'
    ? as('missing')
    : as('unknown', `Its request may have been sent: ${line}, and could be its record.`)
}

/** Of a request that may have been sent, and has not come to its end. */
function examineOpen(instance: Instance, key: string, project: ProjectState): VariantState {
  const { history, isSentAgain, inQueue } = project
  const made = history.made.get(key)
  if (made !== undefined) {
    const expiry = made.expires_at * 1000
    const until = new Date(expiry).toISOString().replace('.000Z', 'Z')
    const reason = 'It was made and billed, and could not be fetched.'
    return expiry <= project.now
      ? as('lost', `${reason} Its address was valid until ${until}.`)
      : as('unfetched', `${reason} It can be fetched until ${until}.`)
  }
  const job = history.jobs.get(key)
  if (job !== undefined) return as('missing', `Its job ${job.id} was started before.`)
  if (inQueue.has(key)) return as('missing', 'It is with the queue.')
  if (isSentAgain) return as('missing')
  const { queue, queue_at: queueAt } = history.intents.get(key)!
  if (queue !== undefined && queue !== project.queue) {
    const where = queueAt === undefined ? 'another queue' : `the queue at ${queueAt}`
    const reason = `A request was sent to ${where}: run it with that --queue to learn its outcome.`
    return { ...as('unknown', reason), isElsewhere: true }
  }
  if (instance.onUnknown === 'retry') return as('missing')
  return as('unknown', 'A request was sent, and its outcome is not known.')
}

/** Results of the same request, whoever asked for it, the newest first. */
async function knownResults(key: string, project: ProjectState) {
  const { results, history, lockedByKey, lock } = project
  if (history.discarded.has(key)) return []
  const own = (await results.get(key))?.result
  const locked = (lockedByKey.get(key) ?? []).map((id) => lock.get(id))
  return [own, ...locked].filter((result) => result !== undefined)
}

/** Why outputs do not hold their asserts, each a sentence. @param files absolute paths of their bytes */
export async function failedAsserts(
  instance: Instance,
  outputs: readonly OutputFacts[],
  files: readonly string[],
  project: ProjectState,
): Promise<readonly string[]> {
  // An answer that does not match the schema of its request is a result that is rejected, too.
  const isChecked = Object.keys(instance.asserts).length > 0 || instance.fields['schema'] !== undefined
  if (!isChecked && !hasElements(instance, project)) return []
  const { instances } = project.manifest
  const duplicateOf = (sha256: string) =>
    project.lockedByDigest.get(sha256)?.find((id) => id !== instance.id && instances.has(id))
  return await project.checkAsserts(instance, foundOutputs(outputs, files), duplicateOf)
}

export function foundOutputs(outputs: readonly OutputFacts[], files: readonly string[]) {
  return outputs.map((facts, at) => ({ path: files[at]!, facts }))
}

type Subject = Awaited<ReturnType<typeof createSubject>>

/** Finds the keys of an instance, unless an upstream is not known, and its locked block. */
async function createSubject(instance: Instance, project: ProjectState, assessments: Assessments) {
  const upstreams: Upstream[] = []
  for (const reference of instance.references) {
    upstreams.push(await upstreamOf(reference, assessments, project))
  }
  const isKnown = instance.waiting === undefined && upstreams.every(({ found }) => found !== undefined)
  // A picked candidate stays one when there are to be fewer.
  const variants = Math.max(instance.variants, project.lock.get(instance.id)?.picked ?? 0)
  const known = isKnown
    ? await keysOf({ ...instance, variants }, project.manifest.gateway, {
        fileDigest: (path) => project.inputDigest(path),
        upstream: ({ text }) =>
          upstreams.find(({ reference }) => reference.text === text)?.found?.result.outputs,
      })
    : undefined
  const found = instance.waiting === undefined ? findBlock(instance, known?.keys ?? [], project) : null
  const base: Omit<Assessment, 'state'> = {
    instance,
    key: known?.keys[(found?.variant ?? instance.pick ?? 1) - 1] ?? null,
    keys: known?.keys.slice(0, instance.variants) ?? [],
    fields: known?.fields ?? null,
    reasons: [],
    toMake: [],
    block: found?.block ?? null,
    lockedAs: found?.id ?? null,
    restore: null,
    moves: [],
  }
  const checks = found === null ? [] : await checkOutputs(instance, found.block, project)
  return { instance, project, upstreams, known, found, checks, base }
}

function inTheWay({ base }: Subject, paths: readonly string[]): Assessment {
  const reasons = paths.map((path) => `${path} exists and is not locked.`)
  return { ...base, state: 'in_the_way', reasons }
}

export type FoundBlock = NonNullable<ReturnType<typeof findBlock>>

/**
 * The block of an instance: by its key, so that another name costs nothing, then by its name. What other instances of the
 * manifest have locked stays theirs. `variant` is the one whose key it has, from 1; null where its name alone found it.
 */
export function findBlock(
  { id }: Instance,
  keys: readonly string[],
  { lock, lockedByKey, manifest }: ProjectState,
) {
  const own = lock.get(id)
  const ownVariant = own === undefined ? -1 : keys.indexOf(own.key)
  if (own !== undefined && ownVariant !== -1) return { id, block: own, variant: ownVariant + 1 }
  for (const [at, key] of keys.entries()) {
    const former = lockedByKey.get(key)?.find((name) => !manifest.instances.has(name))
    if (former !== undefined) return { id: former, block: lock.get(former)!, variant: at + 1 }
  }
  return own === undefined ? null : { id, block: own, variant: null }
}

/**
 * What distinguishes a request from the one that was locked, a sentence for each field, with the files and references
 * that the field names. Empty when it is the number of the variant alone.
 */
function explainKey(instance: Instance, locked: LockBlock['fields'], current: LockBlock['fields']): string[] {
  // A run that was killed had put the file in place, and not yet locked it.
  if (Object.keys(locked).length === 0) return ['What is there was made by another request.']
  const names = new Set([...Object.keys(current), ...Object.keys(locked)])
  return [...names].flatMap((name) => {
    if (locked[name] === current[name]) return []
    const shown = name.startsWith('$') ? `\`${name.slice(1)}\`` : `\`${name}\``
    if (!Object.hasOwn(current, name)) return [`${shown} was removed.`]
    const sources = sourcesOf(instance.fields[name]).map(shownSource)
    const from = sources.length === 0 ? '' : ` (${sources.join(', ')})`
    return [Object.hasOwn(locked, name) ? `${shown} changed${from}.` : `${shown} was added${from}.`]
  })
}
