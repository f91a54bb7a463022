import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { openLedger } from '../../src/files/ledger.ts'
import { createSpending } from '../../src/operations/spending.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const image = (count: number) => ({ model: 'm', count, of: 'image' }) as const

const spendingOf = (limit: number, own = { created: 0 }, folder = temporaryFolder()) =>
  createSpending({
    ledger: openLedger(folder, fakeClock()),
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

test('what was not accepted does not count for the command, either', async () => {
  const spending = spendingOf(2)
  const failed = await spending.admit(image(2))
  failed(new ModelgateError('notSent', 'not_sent_dns', 'No such host.', { billed: 'no' }))
  const unclear = await spending.admit(image(2))
  unclear(new ModelgateError('unknown', 'outcome_reset', 'Lost.', { billed: 'maybe' }))
  await expect(spending.admit(image(1))).rejects.toMatchObject({ code: 'creations_limit' })
})

test('the tasks of a worker share its limit, also at the same time, whatever a gateway writes', async () => {
  const own = { created: 0 }
  const folder = temporaryFolder()
  const [one, other] = [spendingOf(3, own, folder), spendingOf(3, own, folder)]
  const both = await Promise.allSettled([one.admit(image(2)), other.admit(image(2))])
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  const [first] = both as [PromiseFulfilledResult<(error: unknown) => void>, unknown]
  first.value(new ModelgateError('unknown', 'outcome_status', 'You were not charged.', { billed: 'maybe' }))
  await expect(other.admit(image(2))).rejects.toMatchObject({ code: 'creations_limit' })
  await other.admit(image(1))
})
