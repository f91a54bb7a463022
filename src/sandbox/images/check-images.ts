import { familyCalled } from '../../contract/families.ts'
import type { Family, SourceLimits } from '../../contract/field.ts'
import { maskLimits } from '../../contract/images.ts'
import { decodeImage, type Pixels } from '../../files/codecs.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { missingField, RequestProblem, unknownField } from '../http/request-problem.ts'
import type { UploadedFile } from '../sandbox.ts'

/** A validated image file. */
export interface Source extends ImageInfo {
  readonly file: UploadedFile
}

export interface Sources {
  readonly images: readonly [Source, ...Source[]]
  readonly mask: Source | undefined
}

/**
 * Checks the files of an edit against the limits of the model's family; for a model of none, against what the sandbox
 * can read.
 * @throws RequestProblem 400
 */
export function checkSources(files: readonly UploadedFile[], family: Family | undefined): Sources {
  const foreign = files.find(({ field }) => !/^(image(\[\])?|mask)$/.test(field))
  if (foreign !== undefined) throw unknownField(foreign.field)
  const limits = family?.sources ?? readable
  const uploads = files.filter(({ field }) => field !== 'mask')
  const masks = files.filter(({ field }) => field === 'mask')
  const [first, ...others] = uploads
  if (first === undefined) throw missingField('image')
  if (uploads.length > limits.max_count) {
    const most = limits.max_count === 1 ? '1 file' : `${limits.max_count} files`
    throw invalidFile('image', `must be at most ${most}, not ${uploads.length}`)
  }
  if (masks.length > 1) throw invalidFile('mask', 'must be one file')
  const check = (file: UploadedFile, index: number) =>
    checkFile(file, uploads.length === 1 ? 'image' : `image[${index}]`, limits)
  const edited = check(first, 0)
  const images = [edited, ...others.map((file, index) => check(file, index + 1))] as const
  const mask = masks[0] && checkFile(masks[0], 'mask', { ...maskLimits, square: false })
  if (mask !== undefined) checkMask(mask, edited)
  return { images, mask }
}

/** The formats and sizes that the sandbox decodes, whatever the model. */
const readable: SourceLimits = { ...familyCalled('image-model-a').sources!, max_count: Infinity }

function checkFile(file: UploadedFile, name: string, limits: Omit<SourceLimits, 'max_count'>): Source {
  const types = limits.media_types.join(', ')
  // Public practice: a part without an image type is rejected, whatever its bytes.
  if (!limits.media_types.includes(file.declaredType.replace('image/jpg', 'image/jpeg'))) {
    throw invalidFile(name, `must be sent as ${types}, not as ${file.declaredType}`)
  }
  if (file.size >= limits.below_bytes) {
    throw invalidFile(name, `must be smaller than ${limits.below_bytes} bytes, not ${file.size}`)
  }
  const info = readImageInfo(file.head)
  if (info === undefined || !limits.media_types.includes(info.mediaType)) {
    throw invalidFile(name, `must be an image of type ${types} by its bytes`)
  }
  const { width, height } = info
  if (limits.square && width !== height) throw invalidFile(name, `must be square, not ${width}x${height}`)
  return { ...info, file }
}

/** Specification, Limits: the dimensions of the (first) image; endpoint 6: transparent areas mark the edit region. */
function checkMask(mask: Source, { width, height }: Source): void {
  if (!mask.hasAlpha) throw invalidFile('mask', 'must have an alpha channel')
  if (mask.width === width && mask.height === height) return
  const own = `${mask.width}x${mask.height}`
  throw invalidFile('mask', `must be ${width}x${height} as the first image, not ${own}`)
}

/** A problem with a file, in the words of the public service. */
export function invalidFile(name: string, problem: string): RequestProblem {
  return new RequestProblem(400, `Invalid '${name}': ${problem}.`, {
    param: name,
    type: 'image_generation_user_error',
    code: 'invalid_image_file',
  })
}

/** Larger images would need too much memory. The specification sets no limit. */
const maxPixels = 40_000_000

/** @throws RequestProblem 400 for too many pixels, and for a valid header with invalid data */
export async function decodeSource(
  { file, mediaType, width, height }: Source,
  name: string,
): Promise<Pixels> {
  if (width * height > maxPixels) {
    throw invalidFile(name, `must have at most ${maxPixels} pixels in the sandbox, not ${width}x${height}`)
  }
  return decodeImage(file.head, mediaType).catch(() => {
    throw invalidFile(name, `is a damaged ${mediaType}`)
  })
}
