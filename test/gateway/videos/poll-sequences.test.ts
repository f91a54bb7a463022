import { expect, test } from 'vitest'
import { trySequences } from './poll-sequences.ts'

test('50 sequences of answers end as they should, with as few look-ups, and never without a pause', async () => {
  await expect(trySequences(50)).resolves.toBeUndefined()
})
