// Writes a PNG of WIDTH pixels to PATH, says "open", waits for a line, then finishes. Prints the name it got.
import process from 'node:process'
import { basename } from 'node:path'
import { imageKind } from '../../src/files/image-info.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { testContext } from '../support/test-context.ts'

const [path = '', width = '1'] = process.argv.slice(2)
const file = openMediaFile(testContext(), imageKind, { pathFor: () => path, force: false })
await file.write(pngBytes({ width: Number(width) }))
process.stdout.write('open\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
process.stdin.destroy()
process.stdout.write(`${basename((await file.commit()).path)}\n`)
