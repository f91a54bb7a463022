import { join } from 'node:path'
import type { LockBlock } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { foldedPath } from '../manifest/output-paths.ts'
import { assessVariants } from './assess-variants.ts'
import type { Assessment } from './assessment.ts'
import { failedAsserts } from './examine-variant.ts'
import type { FoundBlock } from './find-block.ts'
import { checkOutputs, findResult, obstaclesOf, type OutputCheck } from './result-files.ts'
import { createSubject, inTheWay, type Subject } from './subject.ts'
import type { UpstreamOf, World } from './world.ts'

/**
 * Compares an instance with lock, files, results and journals. The first of these decides: a file that was changed by hand
 * or is in the way, whatever the key; what is locked with this key, or frozen; an upstream that is not known; what
 * journals and results know of the key.
 * @param upstreamOf what its references stand for
 * @throws FileError for a file that cannot be read
 */
export async function assess(instance: Instance, world: World, upstreamOf: UpstreamOf): Promise<Assessment> {
  const subject = await createSubject(instance, world, upstreamOf)
  const { found, known, base } = subject
  const checks = found === null ? [] : await checkOutputs(instance, found.block, world)
  if (!world.forced.force) {
    const edited = checks.flatMap(({ edited }) => edited ?? [])
    if (edited.length > 0) {
      return (
        (await assessPlaced(subject, edited)) ?? {
          ...base,
          state: 'changed',
          reasons: edited.map((path) => `${path} differs from the lock.`),
        }
      )
    }
    const obstacles = checks.flatMap(({ obstacle }) => obstacle ?? [])
    if (obstacles.length > 0) return inTheWay(subject, obstacles)
  }
  if (found !== null && isWanted(subject, found)) return await assessLocked(subject, found, checks)
  if (known === undefined || instance.isFrozen) return await assessHeldUp(subject)
  return await assessVariants(subject, known)
}

/**
 * Files that are not as locked because they are what is wanted now: a process put a known result in place, and was killed
 * before it was locked. Undefined where they are anything else.
 * @param edited their paths
 */
async function assessPlaced(subject: Subject, edited: readonly string[]): Promise<Assessment | undefined> {
  const { known, instance, found } = subject
  if (known === undefined || found === null || instance.isFrozen || isWanted(subject, found)) return undefined
  const wanted = await assessVariants(subject, known)
  // With other bytes at one of these paths it would be in the way.
  const places = wanted.restore?.result.outputs.map(({ path }) => path) ?? []
  return edited.every((path) => places.includes(path)) ? wanted : undefined
}

/** Whether what is locked is what is to be there now. */
function isWanted({ instance, world }: Subject, { block, variant }: FoundBlock): boolean {
  if (instance.isFrozen) return true
  if (variant === null || world.forced.regenerate.has(instance.id)) return false
  // A regeneration that is under way.
  const recorded = world.history.of(block.key)
  if (recorded?.isDiscarded && recorded.open !== null) return false
  if (instance.pick !== null) return instance.pick === variant
  // Of what was the only result, the others are to be candidates as well.
  return instance.variants === 1 || block.picked !== null
}

/** What is locked is wanted: its files are there, or can be restored, or are lost. */
async function assessLocked(
  { instance, world, base }: Subject,
  { id, block }: FoundBlock,
  checks: readonly OutputCheck[],
): Promise<Assessment> {
  const outputs = checks.map(({ facts }) => facts)
  const locked = { ...base, key: block.key, fields: instance.isFrozen ? block.fields : base.fields }
  const isMoved = checks.some(({ facts, from }) => facts.path !== from)
  if (!isMoved && id === instance.id && checks.every(({ isInPlace }) => isInPlace)) {
    const { outputFolder } = world.manifest.project
    const files = outputs.map(({ path }) => join(outputFolder, path))
    // It was locked as it is, so that only an assert can have changed.
    const isAsserted = Object.keys(instance.asserts).length > 0
    const reasons = isAsserted ? await failedAsserts(instance, outputs, files, world) : []
    return { ...locked, state: reasons.length === 0 ? 'fresh' : 'rejected', reasons }
  }
  const lost = await lostPaths(block, checks, world)
  if (lost.length > 0) {
    const reasons = lost.map((path) => `${path} is missing, and its bytes are not in .modelgate.`)
    return { ...locked, state: 'lost', reasons }
  }
  const renamed = id === instance.id ? [] : [`It was ${id} before.`]
  return {
    ...locked,
    state: 'restorable',
    reasons: [...renamed, ...checks.flatMap(whatHappened)],
    restore: { result: { ...block, outputs }, picked: block.picked },
    moves: checks
      .filter(({ isLeftBehind, from, facts }) => isLeftBehind && mayLeave(from, facts.path, world))
      .map(({ from, facts }) => ({ from, to: facts.path })),
  }
}

/** Where another output belongs, the old file is replaced; a name that differs in case alone is to be a new one. */
function mayLeave(from: string, to: string, world: World): boolean {
  return foldedPath(from) === foldedPath(to) || !world.isOutput(from)
}

/** The outputs whose bytes are nowhere. */
async function lostPaths(
  block: LockBlock,
  checks: readonly OutputCheck[],
  world: World,
): Promise<readonly string[]> {
  const lost: string[] = []
  for (const { facts, isInPlace, isLeftBehind } of checks) {
    if (isInPlace || isLeftBehind) continue
    if ((await findResult(block.key, { outputs: [facts] }, world)) === undefined) lost.push(facts.path)
  }
  return lost
}

function whatHappened({ facts: { path }, from, isInPlace, isLeftBehind }: OutputCheck): string[] {
  if (path !== from && (isInPlace || isLeftBehind)) return [`${from} is to be ${path}.`]
  return isInPlace ? [] : [`${path} is missing.`]
}

/** Nothing can be made: the key is not known yet, or the instance is frozen and nothing is locked of it. */
async function assessHeldUp(subject: Subject): Promise<Assessment> {
  const { instance, world, upstreams, found, base } = subject
  if (found === null && !world.forced.force) {
    const obstacles = await obstaclesOf(instance, null, world)
    if (obstacles.length > 0) return inTheWay(subject, obstacles)
  }
  if (instance.isFrozen) {
    return { ...base, state: 'blocked', reasons: ['It is frozen, and none of it is locked.'] }
  }
  const waiting = upstreams.filter((upstream) => upstream.state !== 'known')
  // What stands still outlasts what is only to be made first.
  const isBlocked = waiting.some(({ state }) => state === 'blocked')
  const state = isBlocked ? 'blocked' : 'pending'
  return { ...base, state, reasons: waiting.filter((one) => one.state === state).map(({ reason }) => reason) }
}
