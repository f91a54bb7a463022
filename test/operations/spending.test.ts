import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileError, ModelgateError } from '../../src/errors.ts'
import type { ImageDocument } from '../../src/events/image.ts'
import type { TextDocument } from '../../src/events/text.ts'
import { CallBook } from '../../src/files/calls/call-book.ts'
import { createSpending } from '../../src/operations/spending.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const image = (count: number) => ({ model: 'm', count, of: 'image' }) as const

const spendingOf = (limit: number, own = { created: 0 }, folder = temporaryFolder()) =>
  createSpending({
    book: new CallBook(folder, fakeClock({ random: Math.random })),
    prices: {},
    isSandbox: false,
    own,
    limits: { own: limit, since: 0, sinceText: '1970-01-01 00:00' },
    warn: () => {},
  })

// A chat is one command of many requests.
test('--max-creates counts all requests of a command', async () => {
  const spending = spendingOf(3)
  await spending.admit(image(2))
  await expect(spending.admit(image(2))).rejects.toMatchObject({
    exitCode: 15,
    message:
      '--max-creates 3 is reached: it has created 2, and this would create 2 images more. Nothing was sent.',
  })
  await spending.admit(image(1))
})

test('the tasks of a worker share its limit, also at the same time, whatever a gateway writes', async () => {
  const own = { created: 0 }
  const folder = temporaryFolder()
  const [one, other] = [spendingOf(3, own, folder), spendingOf(3, own, folder)]
  const both = await Promise.allSettled([one.admit(image(2)), other.admit(image(2))])
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  const [first] = both as [PromiseFulfilledResult<(error: unknown) => void>, unknown]
  first.value(new ModelgateError('unknown', 'connection_lost', 'You were not charged.', { billed: 'maybe' }))
  await expect(other.admit(image(2))).rejects.toMatchObject({ code: 'creations_limit' })
  await other.admit(image(1))
})

/** Records in a folder of their own, and what their lines say besides id, time, kind and checksum. */
function place(parts: Partial<Parameters<typeof createSpending>[0]> = {}) {
  const folder = temporaryFolder()
  const warnings: string[] = []
  let chance = 0
  const random = () => (chance = (chance + 0.618_033_988_75) % 1)
  const clock = fakeClock({ random })
  const book = new CallBook(folder, clock)
  const lines = () => {
    const file = join(folder, 'calls/2026-01.jsonl')
    const written = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    return written.map((line) => {
      const {
        at: _at,
        id: _id,
        type: _type,
        check: _check,
        ...fields
      } = JSON.parse(line) as Record<string, unknown>
      return fields
    })
  }
  const warn = (message: string) => warnings.push(message)
  const limits = undefined
  const spending = createSpending({ book, prices: {}, isSandbox: false, limits, warn, ...parts })
  return { spending, book, lines, warnings }
}

const noLimit = { since: 0, sinceText: '1970-01-01 00:00' }
const prices = {
  m: { currency: 'USD', image: 0.25 },
  writer: { currency: 'EUR', input: 1_000_000, output: 2_000_000 },
}

const noHome = 'Nothing can be recorded: there is no home directory.'

test.each([
  ['there is no home', () => new CallBook(undefined, fakeClock()), noHome],
  ['the disk is full', fullBook, 'The disk is full.'],
])('without limits a creation goes on where %s, and is not sent with one', async (_, open, reason) => {
  const book = open()
  await place({ book }).spending.admit(image(1))
  await place({ book, limits: { ...noLimit, own: 5 } }).spending.admit(image(1))
  const own = { created: 0 }
  const { spending } = place({ book, own, limits: { ...noLimit, all: 5 } })
  await expect(spending.admit(image(1))).rejects.toMatchObject({
    exitCode: 10,
    message: `What is created cannot be counted, so nothing was sent: ${reason}`,
    facts: { billed: 'no' },
  })
  expect(own.created).toBe(0)
})

/** Its records can be read. */
function fullBook(): CallBook {
  const book = new CallBook(temporaryFolder(), fakeClock())
  book.begin = () => {
    throw new FileError('no_space', 'The disk is full.')
  }
  return book
}

describe('the cost of a document', () => {
  const answer = (fields: object) =>
    ({
      finish_reason: 'stop',
      model: 'writer',
      state: null,
      cost: null,
      ...fields,
    }) as unknown as TextDocument
  const usage = { input_tokens: 2, output_tokens: 1, cached_tokens: 0 }
  const text = { model: 'writer', count: 1, of: 'text', body: 'four', maxOutputTokens: 2 } as const

  test.each([
    ['nothing, as of a reply that was passed on', [], 0.75],
    ['only failures, as of such a reply', ['damaged_media'], 0.75],
  ])('of images is that of all that were asked for where it has %s', async (_, codes, amount) => {
    const { spending } = place({ prices })
    await spending.admit(image(3))
    const failures = codes.map((code) => ({ code }))
    const document = { model: 'm', usage: null, files: [], links: [], failures, cost: null }
    const { cost } = await spending.withCost(document as unknown as ImageDocument)
    expect(cost).toMatchObject({ amount, currency: 'USD' })
  })

  test('that is not known says why, and corrects nothing', async () => {
    const { spending, lines } = place({ prices })
    await spending.admit(text)
    expect((await spending.withCost(answer({ usage: null }))).cost).toEqual({
      amount: null,
      currency: null,
      estimate: true,
      reason: 'the gateway reported no token counts',
    })
    expect(lines()).toHaveLength(1)
  })

  test('of an answer that is generated in the background is corrected by the command that fetches it', async () => {
    const first = place({ prices })
    first.spending.call = { command: 'respond', cwd: '/' }
    await first.spending.admit(text)
    const running = answer({ id: 'resp_1', usage: null, state: 'queued' })
    expect(await first.spending.withCost(running)).toBe(running)
    const end = { time: '', duration_ms: 0, command: 'respond', cwd: '/', exit_code: 0, files: [] }
    await first.spending.endCall({ ...end, created: { job: 'resp_1' } })
    const second = place({ prices, book: first.book })
    const done = answer({ id: 'resp_1', usage })
    expect((await second.spending.withCost(done)).cost).toMatchObject({ amount: 4 })
    expect(first.lines().at(-1)).toEqual({ count: 0, amount: '4', was: '5', currency: 'EUR' })
    await place({ prices, book: first.book, isSandbox: true }).spending.withCost(done)
    expect(first.lines()).toHaveLength(3)
  })

  test('of a model that the gateway has chosen is known only then', async () => {
    const { spending, lines } = place({ prices })
    await spending.admit({ ...text, model: null })
    expect((await spending.withCost(answer({ usage }))).cost).toMatchObject({ amount: 4 })
    expect(lines()).toEqual([
      { count: 1, of: 'text', amount: null, currency: null },
      { count: 0, amount: '4', was: null, currency: 'EUR' },
    ])
  })

  test('of the sandbox is nothing, and tells what it would be', async () => {
    const { spending, lines } = place({ prices, isSandbox: true })
    await spending.admit(text)
    expect((await spending.withCost(answer({ id: 'resp_1', usage }))).cost).toEqual({
      amount: 0,
      currency: 'EUR',
      estimate: true,
      reason: 'the sandbox costs nothing; by your prices it would be about 4.00 EUR',
    })
    expect((await spending.withCost(answer({ id: 'resp_1', usage: null }))).cost).toEqual({
      amount: 0,
      currency: null,
      estimate: true,
      reason: 'the sandbox costs nothing',
    })
    expect(lines()).toEqual([])
  })
})
