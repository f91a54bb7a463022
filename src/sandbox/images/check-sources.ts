import type { FamilyId } from '../../contract/families.ts'
import { maskLimits, sourceLimits, type SourceLimits } from '../../contract/image-files.ts'
import { readImageInfo, type ImageInfo } from '../../files/image-info.ts'
import { RequestProblem } from '../http/problem.ts'
import type { UploadedFile } from '../request.ts'

/** A file that has been found to be an image of an allowed kind and size. */
export interface Source extends ImageInfo {
  readonly file: UploadedFile
}

export interface Sources {
  readonly images: readonly [Source, ...Source[]]
  readonly mask: Source | undefined
}

/** Of images of more pixels, the sandbox would need more memory than a stand-in should. The specification sets none. */
const maxPixels = 40_000_000

/**
 * Holds the files of an edit against the limits of the model's family; those of all families together for a model of
 * none.
 * @throws RequestProblem 400
 */
export function checkSources(files: readonly UploadedFile[], family: FamilyId | undefined): Sources {
  const foreign = files.find(({ field }) => !/^(image(\[\])?|mask)$/.test(field))
  if (foreign !== undefined) {
    throw new RequestProblem(400, `Unknown parameter: '${foreign.field}'.`, {
      param: foreign.field,
      code: 'unknown_parameter',
    })
  }
  const limits = limitsOf(family)
  const uploads = files.filter(({ field }) => field !== 'mask')
  const masks = files.filter(({ field }) => field === 'mask')
  if (uploads.length === 0) {
    throw new RequestProblem(400, "Missing required parameter: 'image'.", {
      param: 'image',
      code: 'missing_required_parameter',
    })
  }
  if (uploads.length > limits.maxCount) {
    throw invalid('image', `must be at most ${limits.maxCount} files, not ${uploads.length}`)
  }
  if (masks.length > 1) throw invalid('mask', 'must be one file')
  const images = uploads.map((file, index) =>
    checkFile(file, uploads.length === 1 ? 'image' : `image[${index}]`, limits),
  )
  const mask = masks[0] && checkFile(masks[0], 'mask', { ...maskLimits, square: false })
  if (mask !== undefined) checkMask(mask, images[0]!)
  return { images: images as [Source, ...Source[]], mask }
}

function limitsOf(family: FamilyId | undefined): SourceLimits {
  const known: Readonly<Partial<Record<FamilyId, SourceLimits>>> = sourceLimits
  return (family && known[family]) ?? sourceLimits['image-model-a']
}

function checkFile(file: UploadedFile, name: string, limits: Omit<SourceLimits, 'maxCount'>): Source {
  const types = limits.mediaTypes.join(', ')
  // Public practice: a part without the type of an image is refused, whatever its bytes are.
  if (!limits.mediaTypes.includes(file.declaredType.replace('image/jpg', 'image/jpeg'))) {
    throw invalid(name, `must be sent as ${types}, not as ${file.declaredType}`)
  }
  if (file.size >= limits.below) {
    throw invalid(name, `must be smaller than ${limits.below} bytes, not ${file.size}`)
  }
  const info = readImageInfo(file.head)
  if (info === undefined || !limits.mediaTypes.includes(info.mediaType)) {
    throw invalid(name, `must be an image of type ${types} by its bytes`)
  }
  const { width, height } = info
  if (limits.square && width !== height) throw invalid(name, `must be square, not ${width}x${height}`)
  if (width * height > maxPixels) {
    throw invalid(name, `must have at most ${maxPixels} pixels in the sandbox, not ${width}x${height}`)
  }
  return { ...info, file }
}

/** Specification, Limits: the dimensions of the (first) image; endpoint 6: transparent areas mark the edit region. */
function checkMask(mask: Source, first: Source): void {
  if (!mask.hasAlpha) throw invalid('mask', 'must have an alpha channel')
  if (mask.width !== first.width || mask.height !== first.height) {
    throw invalid(
      'mask',
      `must be ${first.width}x${first.height} as the first image, not ${mask.width}x${mask.height}`,
    )
  }
}

/** A problem with a file, in the public service's words for it. */
export function invalid(name: string, problem: string): RequestProblem {
  return new RequestProblem(400, `Invalid '${name}': ${problem}.`, {
    param: name,
    type: 'image_generation_user_error',
    code: 'invalid_image_file',
  })
}
