import { isDeepStrictEqual } from 'node:util'
import { UsageError } from '../../errors.ts'
import { conflictMark, parseLock, type Lock, type LockBlock } from './lock-block.ts'

export interface MergeJudge {
  /** Each after those that it refers to. */
  readonly ids: Iterable<string>
  /** Undefined when the lock does not hold what the instance refers to. */
  keysOf(id: string, lock: Lock): Promise<readonly string[] | undefined>
  /** Asked when both sides have the same key. */
  isInPlace(block: LockBlock): Promise<boolean>
}

export type ResolvedLock = Readonly<Awaited<ReturnType<typeof resolveLock>>>

/** Keeps what both sides have, and of the rest what the manifest still asks for. @throws UsageError `lock_invalid` */
export async function resolveLock(text: string, file: string, judge: MergeJudge) {
  const sides = splitSides(text, file)
  const [ours, theirs] = [parseLock(sides.ours, file), parseLock(sides.theirs, file)]
  const lock = new Map<string, LockBlock>()
  const disputed = new Set<string>()
  for (const id of new Set([...ours.keys(), ...theirs.keys()])) {
    const block = ours.get(id)
    if (block !== undefined && isDeepStrictEqual(block, theirs.get(id))) lock.set(id, block)
    else disputed.add(id)
  }
  const taken = new Map<string, 'ours' | 'theirs'>()

  async function decide(id: string, keys: ReadonlySet<string>): Promise<void> {
    const [one, other] = [ours.get(id), theirs.get(id)].map((block) =>
      block !== undefined && keys.has(block.key) ? block : undefined,
    )
    if (one === undefined && other === undefined) return
    const isTheirs =
      one === undefined ||
      (other !== undefined && !(await judge.isInPlace(one)) && (await judge.isInPlace(other)))
    lock.set(id, (isTheirs ? other : one)!)
    taken.set(id, isTheirs ? 'theirs' : 'ours')
  }

  const wanted = new Set<string>()
  const ids = new Set(judge.ids)
  for (const id of disputed.size === 0 ? [] : ids) {
    const keys = (await judge.keysOf(id, lock)) ?? []
    for (const key of keys) wanted.add(key)
    if (disputed.has(id)) await decide(id, new Set(keys))
  }
  // A job that was renamed since: its result is found by its key.
  for (const id of disputed) if (!ids.has(id)) await decide(id, wanted)
  const lost = new Map(
    [...disputed].map((id) => {
      const blocks = [ours.get(id), theirs.get(id)].filter((block) => block !== undefined)
      return [id, blocks.filter((block) => block !== lock.get(id))] as const
    }),
  )
  // The manifest matches neither side of them: they are not in the lock any more.
  const dropped = [...disputed].filter((id) => !lock.has(id)).sort()
  return { lock, taken, lost, dropped }
}

/** Also with the common ancestor. Longer marks are of conflicts within that. */
const conflict =
  /^<{7}(?: .*)?\r?\n([^]*?)(?:^\|{7}(?: .*)?\r?\n[^]*?)?^={7}(?: .*)?\r?\n([^]*?)^>{7}(?: .*)?\r?$/gm

/** The lines of the other side are empty, so that lines keep their numbers. */
function splitSides(text: string, file: string): { ours: string; theirs: string } {
  const linesIn = (part: string) => part.split('\n').length - 1
  const ours = text.replaceAll(conflict, (whole, part: string) => {
    return `\n${part}${'\n'.repeat(linesIn(whole) - linesIn(part) - 1)}`
  })
  const theirs = text.replaceAll(conflict, (whole, _, part: string) => {
    return `${'\n'.repeat(linesIn(whole) - linesIn(part))}${part}`
  })
  for (const side of [ours, theirs]) {
    const left = conflictMark.exec(side)
    if (left !== null) throw marksInvalid(file, linesIn(side.slice(0, left.index)) + 1)
  }
  return { ours, theirs }
}

function marksInvalid(file: string, line: number): UsageError {
  return new UsageError(`${file}:${line}: the conflict markers are not those of one merge.`, {
    code: 'lock_invalid',
    hint: 'Take the lock of one branch from version control, and run modelgate run --plan.',
  })
}
