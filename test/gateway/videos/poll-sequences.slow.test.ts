import { expect, test } from 'vitest'
import { trySequences } from './poll-sequences.ts'

test('500 sequences of answers end as they should, with as few look-ups, and never without a pause', async () => {
  await expect(trySequences(500)).resolves.toBeUndefined()
})
