// Shows a picture of WIDTH x HEIGHT pixels on standard error, in the mode that is named, and prints what it has done.
import process from 'node:process'
import { systemContext } from '../../../src/context.ts'
import { createPreview } from '../../../src/output/preview/create-preview.ts'
import type { PreviewMode } from '../../../src/output/preview/detect-protocol.ts'
import { pngBytes } from '../../support/image-bytes.ts'

const [mode = 'auto', width = '1', height = '1'] = process.argv.slice(2)
const row = Uint8Array.from({ length: Number(width) * 4 }, (_, at) => (at % 4 === 3 ? 255 : at))
const rows = Array.from({ length: Number(height) }, () => row)
const bytes = pngBytes({ width: Number(width), height: Number(height), rows })
const preview = createPreview(systemContext(), mode as PreviewMode)
await preview?.show({ bytes, caption: 'out/hero.png' })
process.stdout.write(preview === undefined ? 'no preview\n' : 'shown\n')
