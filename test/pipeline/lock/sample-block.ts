import type { LockBlock } from '../../../src/pipeline/lock/lock-block.ts'

/** A block of the lock, with something in each kind of field. */
export const sampleBlock: LockBlock = {
  key: 'a'.repeat(64),
  outputs: [
    {
      path: 'assets/hero.webp',
      sha256: 'b'.repeat(64),
      bytes: 1234,
      media_type: 'image/webp',
      width: 1536,
      height: 1024,
      seconds: null,
      credentials: true,
    },
  ],
  fields: { prompt: '0123456789ab', $command: '136f33ad50b3' },
  model: 'gpt-image-2',
  origin: 'https://gateway.example',
  request_id: 'req_1',
  job_id: null,
  usage: { total_tokens: 110 },
  took_s: 1.5,
  picked: 2,
  adopted: null,
  prompt: null,
}
