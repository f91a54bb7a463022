import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, ftruncateSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { s3Checker } from '../../support/s3-checker.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const mebibytes = 512

// A video may have gigabytes.
test('a large file goes through a bucket without being held in memory', { timeout: 300_000 }, async () => {
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }
  const server = await s3Checker({ keys, buckets: ['shelf'], now: Date.now, isZeros: true })
  const folder = temporaryFolder()
  const [path, target] = [join(folder, 'large'), join(folder, 'target')]
  const descriptor = openSync(path, 'w')
  ftruncateSync(descriptor, mebibytes * 2 ** 20)
  closeSync(descriptor)
  const hash = createHash('sha256')
  for (let count = 0; count < mebibytes; count++) hash.update(Buffer.alloc(2 ** 20))
  const script = join(import.meta.dirname, 'large-blob-child.ts')
  const env = {
    ...process.env,
    AWS_ENDPOINT_URL_S3: server.url,
    AWS_ACCESS_KEY_ID: keys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
    AWS_SESSION_TOKEN: '',
    AWS_REGION: 'us-east-1',
  }
  const { stdout } = await promisify(execFile)(process.execPath, [script, path, hash.digest('hex'), target], {
    env,
  })
  const { isThere, memory } = JSON.parse(stdout) as { isThere: boolean; memory: number }
  expect(isThere).toBe(true)
  expect(statSync(target).size).toBe(mebibytes * 2 ** 20)
  expect(server.written).toHaveLength(1)
  expect(memory).toBeLessThan(100)
})
