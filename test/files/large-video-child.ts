// Saves a video of so many MiB and prints the most memory that took, in MiB: node large-video-child.ts FILE MIB
import { constants } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'
import { testContext } from '../support/test-context.ts'
import { ftyp, largeBox, moov } from '../support/video-bytes.ts'

const [path = '', size = '0'] = process.argv.slice(2)
const mebibytes = Number(size)

// The disk of a test machine is spared: content goes nowhere, everything else is as it is.
const open = promises.open
promises.open = async (name, flags, mode) => {
  const handle = await open(name, flags, mode)
  const isWritten = typeof flags === 'number' && (flags & constants.O_WRONLY) !== 0
  if (isWritten) {
    handle.write = (async (_: Uint8Array, __: number, length: number) => ({ bytesWritten: length })) as never
  }
  return handle
}
syncBuiltinESMExports()
const { openMediaFile } = await import('../../src/files/media-file.ts')
const { videoKind } = await import('../../src/files/video-info.ts')

const file = openMediaFile(testContext(), videoKind, { pathFor: () => path, force: false })
const piece = Buffer.alloc(1 << 20, 3)
await file.write(Buffer.concat([ftyp(), largeBox('mdat', 16n + BigInt(mebibytes) * 2n ** 20n)]))
let most = 0
for (let count = 0; count < mebibytes; count++) {
  await file.write(piece)
  // The system's own maximum holds that of the process that has started this one.
  most = Math.max(most, process.memoryUsage.rss())
}
await file.write(moov())
const { bytes, seconds } = await file.commit()
process.stdout.write(JSON.stringify({ bytes, seconds, memory: most / 2 ** 20 }))
