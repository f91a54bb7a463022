import { expect, test } from 'vitest'
import { provenanceOf, unknownProvenance } from '../../../src/pipeline/lock/lock-block.ts'

test('the provenance of a result is all that is known of it but its files', () => {
  const provenance = {
    model: 'gpt-image-2',
    origin: 'https://gateway.example',
    request_id: 'req_1',
    job_id: 'job_1',
    usage: { total_tokens: 110 },
    took_s: 1.5,
  }
  expect(provenanceOf({ ...provenance, outputs: [] } as typeof provenance)).toEqual(provenance)
})

test('what is not known is null, never missing', () => {
  expect(unknownProvenance).toEqual({
    model: null,
    origin: null,
    request_id: null,
    job_id: null,
    usage: null,
    took_s: null,
  })
})
