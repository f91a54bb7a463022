import { spawnSync } from 'node:child_process'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatLock, parseLock, type Lock, type LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { resolveLock, type MergeJudge } from '../../../src/pipeline/lock/merge-lock.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { runs } from '../../support/sample.ts'
import { sampleBlock } from './sample-block.ts'

const digest = (number: number) => number.toString(16).padStart(64, '0')

/** @param number tells its key from others */
const block = (number: number, changes: Partial<LockBlock> = {}): LockBlock => ({
  ...sampleBlock,
  key: digest(number),
  outputs: [{ ...sampleBlock.outputs[0]!, path: `art/${number}.webp`, sha256: digest(number + 1_000_000) }],
  request_id: `req_${number}`,
  ...changes,
})

/** A manifest whose instances have these keys; the files are as no block says, unless told. */
function judge(
  keys: Readonly<Record<string, number>>,
  inPlace: (block: LockBlock) => boolean = () => false,
): MergeJudge {
  return {
    ids: Object.keys(keys),
    keysOf: (id) => Promise.resolve([digest(keys[id]!)]),
    isInPlace: (found) => Promise.resolve(inPlace(found)),
  }
}

const file = 'modelgate.lock'

/** `git merge-file` is the merge of `git merge` for one file, without a repository. */
function gitMerge(base: Lock, ours: Lock, theirs: Lock, style = '') {
  const folder = temporaryFolder()
  writeFiles(folder, { base: formatLock(base), ours: formatLock(ours), theirs: formatLock(theirs) })
  const args = ['merge-file', '-p', ...(style === '' ? [] : [style]), 'ours', 'base', 'theirs']
  const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
  return { isClean: status === 0, text: stdout }
}

const lockOf = (blocks: Readonly<Record<string, LockBlock>>): Lock => new Map(Object.entries(blocks))
const base = lockOf(Object.fromEntries('bdfhjlnpr'.split('').map((id, at) => [id, block(at)])))
const changed = (lock: Lock, changes: Readonly<Record<string, LockBlock | null>>): Lock => {
  const all = new Map(lock)
  for (const [id, value] of Object.entries(changes)) {
    if (value === null) all.delete(id)
    else all.set(id, value)
  }
  return all
}

/** One instance that both sides have changed, as Git leaves it. */
const disputed = (style?: string) =>
  gitMerge(base, changed(base, { d: block(20) }), changed(base, { d: block(21) }), style).text

test.each([
  ['', '\n'],
  ['--diff3', '\r\n'],
  ['--zdiff3', '\n'],
])(
  'of a conflict in the style %j, with lines that end in %j, the side of the manifest is taken, and told',
  async (style, lineEnd) => {
    const text = disputed(style).replaceAll('\n', lineEnd)
    expect(() => parseLock(text, file)).toThrow('conflict markers')
    for (const [number, side] of [
      [20, 'ours'],
      [21, 'theirs'],
    ] as const) {
      expect(await resolveLock(text, file, judge({ b: 0, d: number }))).toEqual({
        lock: changed(base, { d: block(number) }),
        taken: new Map([['d', side]]),
        dropped: [],
        lost: new Map([['d', [block(number === 20 ? 21 : 20)]]]),
      })
    }
    expect(await resolveLock(text, file, judge({ d: 22 }))).toEqual({
      lock: changed(base, { d: null }),
      taken: new Map(),
      dropped: ['d'],
      lost: new Map([['d', [block(20), block(21)]]]),
    })
  },
)

test('of two results of one request, the one whose files are there is taken, else ours', async () => {
  const [one, other] = [block(20), block(20, { request_id: 'req_other' })]
  const { text } = gitMerge(base, changed(base, { d: one }), changed(base, { d: other }))
  const takes = async (inPlace: (found: LockBlock) => boolean) =>
    (await resolveLock(text, file, judge({ d: 20 }, inPlace))).taken.get('d')
  expect(await takes(() => false)).toBe('ours')
  expect(await takes(() => true)).toBe('ours')
  expect(await takes(({ request_id }) => request_id === 'req_other')).toBe('theirs')
})

test('a block is kept for an instance that was renamed since, but given to no other', async () => {
  const text = disputed()
  expect((await resolveLock(text, file, judge({ renamed: 21 }))).lock).toEqual(
    changed(base, { d: block(21) }),
  )
  expect(await resolveLock(text, file, judge({ d: 99, renamed: 20 }))).toMatchObject({ dropped: ['d'] })
})

test('what depends on a dropped instance is dropped as well', async () => {
  const ours = changed(base, { d: block(20), e: block(22) })
  const theirs = changed(base, { d: block(21), e: block(23) })
  const { text } = gitMerge(base, ours, theirs)
  const resolved = await resolveLock(text, file, {
    ids: ['d', 'e'],
    keysOf: (id, lock) =>
      Promise.resolve(id === 'd' ? [digest(99)] : lock.has('d') ? [digest(22)] : undefined),
    isInPlace: () => Promise.resolve(true),
  })
  expect(resolved.dropped).toEqual(['d', 'e'])
})

test.each<[string, string, number]>([
  ['a mark without its end', '{\n<<<<<<< HEAD\n', 2],
  ['an end without its beginning', '{\n}\n>>>>>>> topic\n', 3],
  ['a middle without its beginning', '{\n=======\n}\n', 2],
  ['a beginning within another', '<<<<<<< HEAD\n<<<<<<< HEAD\n', 1],
])('%s is told with its line', async (_, text, line) => {
  await expect(resolveLock(text, file, judge({}))).rejects.toMatchObject({
    exit: 'usage',
    code: 'lock_invalid',
    message: `modelgate.lock:${line}: the conflict markers are not those of one merge.`,
    facts: { hint: 'Take the lock of one branch from version control, and run modelgate run --plan.' },
  })
})

test('a side that cannot be read is told with its line', async () => {
  const text = disputed()
  for (const number of [20, 21]) {
    const line = text.split('\n').findIndex((each) => each.includes(digest(number))) + 1
    const spoilt = text.replace(`"${digest(number)}",`, `"${digest(number)}"`)
    await expect(resolveLock(spoilt, file, judge({ d: 20 }))).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringMatching(`^modelgate\\.lock:${line}:`) as string,
    })
  }
})

test('whatever two branches do to instances that are no neighbours, Git merges it', async () => {
  const action = fc.constantFrom('none', 'add', 'change', 'drop')
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 12 }), async (actions) => {
      const [start, ours, theirs, expected] = [0, 1, 2, 3].map(() => new Map<string, LockBlock>())
      for (const [at, what] of actions.entries()) {
        const own = at % 2 === 0 ? ours! : theirs!
        const other = at % 2 === 0 ? theirs! : ours!
        const id = `job-${String(at).padStart(2, '0')}`
        for (const lock of [start!, ours!, theirs!, expected!]) lock.set(`${id}-after`, block(500 + at))
        if (what !== 'add') for (const lock of [start!, other]) lock.set(id, block(at))
        if (what !== 'drop')
          for (const lock of [own, expected!]) lock.set(id, block(what === 'none' ? at : 100 + at))
      }
      const { isClean, text } = gitMerge(start!, ours!, theirs!)
      expect(isClean).toBe(true)
      expect(parseLock(text, file)).toEqual(expected)
    }),
    runs(40),
  )
})

test('whatever two branches do: nothing is lost that one of them changed and the manifest asks for', async () => {
  const ids = [...'abcdefghijkl']
  const change = fc.constantFrom('keep', 'ours', 'theirs', 'both', 'drop ours', 'drop theirs')
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(ids),
      fc.array(change, { minLength: ids.length, maxLength: ids.length }),
      fc.boolean(),
      async (present, changes, isDiff3) => {
        const start = lockOf(Object.fromEntries(present.map((id, at) => [id, block(at)])))
        const sides: Record<'ours' | 'theirs', Record<string, LockBlock | null>> = { ours: {}, theirs: {} }
        const wanted: Record<string, number> = {}
        for (const [at, id] of ids.entries()) {
          const [side, dropped] = changes[at]!.split(' ') as [string, string?]
          if (dropped !== undefined) sides[dropped as 'ours'][id] = null
          if (side === 'ours' || side === 'both') sides.ours[id] = block(100 + at)
          if (side === 'theirs' || side === 'both') sides.theirs[id] = block(200 + at)
          if (side === 'ours') wanted[id] = 100 + at
          if (side === 'theirs' || side === 'both') wanted[id] = 200 + at
          if (side === 'keep' && present.includes(id)) wanted[id] = present.indexOf(id)
        }
        const [ours, theirs] = [changed(start, sides.ours), changed(start, sides.theirs)]
        const { text } = gitMerge(start, ours, theirs, isDiff3 ? '--diff3' : '')
        const { lock } = await resolveLock(text, file, judge(wanted))
        const expected = Object.fromEntries(Object.entries(wanted).map(([id, number]) => [id, block(number)]))
        expect(lock).toEqual(lockOf(expected))
      },
    ),
    runs(40),
  )
})
