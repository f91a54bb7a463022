import type { Context } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { readInputFile } from '../../files/input-file.ts'
import { readStandardInputBytes } from '../shared/standard-input.ts'
import { allInputs } from '../shared/problem-list.ts'

/** An image inside an instance (wire notes, section 7). */
interface InlineImage {
  readonly bytesBase64Encoded: string
  readonly mimeType: string
}

/** The flags that name pictures for a video. */
export interface ImageryOptions {
  image?: string
  lastFrame?: string
  reference?: string[]
}

/** What the pictures become in an instance. */
export interface Imagery {
  readonly image?: InlineImage
  readonly lastFrame?: InlineImage
  readonly referenceImages?: readonly { readonly image: InlineImage; readonly referenceType: string }[]
}

/** What a reference picture may stand for; the first is meant where none is named. */
const referenceTypes = ['asset', 'style'] as const

/**
 * Reads the pictures that go along with an order; the type comes from their bytes.
 * @throws UsageError, FileError with every problem, each naming the flag
 */
export async function readImagery(
  context: Context,
  { image, lastFrame, reference = [] }: ImageryOptions,
): Promise<Imagery> {
  const read = (flag: string, name: string) => readPicture(context, flag, name)
  const [first, last, references] = await allInputs<unknown>([
    image === undefined ? Promise.resolve() : read('--image', image),
    lastFrame === undefined ? Promise.resolve() : read('--last-frame', lastFrame),
    allInputs(
      reference.map(async (text) => {
        const { name, type } = splitReference(text)
        return { image: await read('--reference', name), referenceType: type }
      }),
    ),
  ])
  return {
    ...(first === undefined ? {} : { image: first as InlineImage }),
    ...(last === undefined ? {} : { lastFrame: last as InlineImage }),
    ...(reference.length === 0 ? {} : { referenceImages: references as Imagery['referenceImages'] & object }),
  }
}

/** `FILE` or `FILE=style`. A file's name may hold an equals sign itself. */
function splitReference(text: string): { name: string; type: string } {
  const type = referenceTypes.find((word) => text.endsWith(`=${word}`))
  return type === undefined
    ? { name: text, type: referenceTypes[0] }
    : { name: text.slice(0, -type.length - 1), type }
}

async function readPicture(context: Context, flag: string, name: string): Promise<InlineImage> {
  const bytes =
    name === '-' ? await readStandardInputBytes(context, `${flag} -`) : await readFile(context, flag, name)
  const mimeType = sniffMediaType(bytes.subarray(0, 4096))
  if (mimeType === undefined || !mimeType.startsWith('image/')) {
    throw new UsageError(
      `${flag} ${JSON.stringify(name)} is not a picture${mimeType === undefined ? '' : ` but ${mimeType}`}.`,
      {
        code: 'not_a_picture',
      },
    )
  }
  return { bytesBase64Encoded: Buffer.from(bytes).toString('base64'), mimeType }
}

async function readFile(context: Context, flag: string, name: string): Promise<Uint8Array> {
  const found = await readInputFile(context, name)
  if (!(found instanceof ModelgateError)) return found
  throw new ModelgateError(found.exit, found.code, `${flag}: ${found.message}`, found.facts)
}
