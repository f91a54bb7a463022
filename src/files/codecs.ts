import { ContractError } from '../errors.ts'
import { readImageInfo } from './image-info.ts'
import { readWasm } from './program-files.ts'

export interface Pixels {
  readonly data: Uint8ClampedArray<ArrayBuffer>
  readonly width: number
  readonly height: number
}

/** The caller checks the size first: four bytes per pixel, on the calling thread. @throws ContractError */
export async function decodeImage(bytes: Uint8Array, mediaType: string): Promise<Pixels> {
  const decode = decoders.get(mediaType)
  if (decode === undefined) {
    throw new ContractError('damaged_media', `There is no decoder for ${mediaType}.`)
  }
  let cause: unknown
  try {
    const pixels = await decode(bytes)
    // For broken bytes the codecs return null or a partial picture.
    if (pixels !== null && pixels.data.length === pixels.width * pixels.height * 4) return pixels
  } catch (error) {
    cause = error
  }
  throw new ContractError('damaged_media', `The ${mediaType} cannot be decoded.`, { cause })
}

const decoders: ReadonlyMap<string, (bytes: Uint8Array) => Promise<Pixels | null>> = new Map([
  ['image/png', decodePng],
  ['image/jpeg', decodeJpeg],
  ['image/webp', decodeWebp],
])

/** Larger pictures are not looked at: no model makes or takes one, and a small file can pretend to be one. */
const maxPixels = 25_000_000

/** Undefined for a damaged picture, another type, or an enormous one. */
export async function hasTransparentPixel(bytes: Uint8Array, maxAlpha = 254): Promise<boolean | undefined> {
  const { mediaType, width = 0, height = 0, hasAlpha } = readImageInfo(bytes) ?? {}
  if (mediaType === undefined || hasAlpha === undefined || width * height > maxPixels) return undefined
  if (!hasAlpha) return false
  try {
    const { data } = await decodeImage(bytes, mediaType)
    for (let at = 3; at < data.length; at += 4) if (data[at]! <= maxAlpha) return true
    return false
  } catch {
    return undefined
  }
}

/** Each pixel is the average of those that it covers, weighted by alpha. Never scales up. */
export function scalePicture(picture: Pixels, maxWidth: number, maxHeight: number): Pixels {
  const width = Math.min(picture.width, Math.max(1, Math.round(maxWidth)))
  const height = Math.min(picture.height, Math.max(1, Math.round(maxHeight)))
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)]
    const [left, right] = [x, x + 1].map((edge) => Math.floor((edge * picture.width) / width)) as Edges
    const [top, bottom] = [y, y + 1].map((edge) => Math.floor((edge * picture.height) / height)) as Edges
    let [red, green, blue, alpha] = [0, 0, 0, 0]
    for (let row = top; row < bottom; row++) {
      for (let from = row * picture.width + left; from < row * picture.width + right; from++) {
        const weight = picture.data[from * 4 + 3]!
        red += picture.data[from * 4]! * weight
        green += picture.data[from * 4 + 1]! * weight
        blue += picture.data[from * 4 + 2]! * weight
        alpha += weight
      }
    }
    const area = (bottom - top) * (right - left)
    if (alpha > 0) data.set([red / alpha, green / alpha, blue / alpha, alpha / area], at * 4)
  }
  return { data, width, height }
}

type Edges = [start: number, end: number]

export async function encodePng(pixels: Pixels): Promise<Uint8Array> {
  const { encode, initSync } = await import('@jsquash/png/codec/pkg/squoosh_png.js')
  initSync(await wasmModule(pngFile))
  const { data, width, height } = pixels
  return encode(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), width, height, 8)
}

/** @param quality 0 to 100. Transparency is lost. */
export async function encodeJpeg(pixels: Pixels, quality: number): Promise<Uint8Array> {
  const [{ default: factory }, { defaultOptions }] = await Promise.all([
    import('@jsquash/jpeg/codec/enc/mozjpeg_enc.js'),
    import('@jsquash/jpeg/meta.js'),
  ])
  const options = { ...defaultOptions, quality }
  return encodeWith(factory, '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm', pixels, options)
}

/** @param quality 0 to 100; transparency is kept without loss. */
export async function encodeWebp(pixels: Pixels, quality: number): Promise<Uint8Array> {
  const [{ default: factory }, { defaultOptions }] = await Promise.all([
    import('@jsquash/webp/codec/enc/webp_enc_simd.js'),
    import('@jsquash/webp/meta.js'),
  ])
  // Method 2 takes a third of the time of the default 4, and the files are hardly larger.
  const options = { ...defaultOptions, quality, method: 2 }
  return encodeWith(factory, '@jsquash/webp/codec/enc/webp_enc_simd.wasm', pixels, options)
}

const pngFile = '@jsquash/png/codec/pkg/squoosh_png_bg.wasm'

async function decodePng(bytes: Uint8Array): Promise<Pixels> {
  const { decode, initSync } = await import('@jsquash/png/codec/pkg/squoosh_png.js')
  const needed = withoutMetadata(bytes)
  const { __wbindgen_add_to_stack_pointer: moveStack } = initSync(await wasmModule(pngFile))
  const before = moveStack(0)
  try {
    return decode(needed)
  } catch (cause) {
    // The decoder panics on a broken file without restoring its stack pointer; after a few hundred such files the
    // stack would be full.
    moveStack(before - moveStack(0))
    throw cause
  }
}

/** The chunks that the pixels depend on. The decoder refuses a file for large or faulty metadata, such as `caBX`. */
const pixelChunks = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND'])

function withoutMetadata(bytes: Uint8Array): Uint8Array {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kept = [png.subarray(0, 8)]
  for (let at = 8, end = at; at + 8 <= png.length; at = end) {
    end = at + 12 + png.readUInt32BE(at)
    if (pixelChunks.has(png.toString('latin1', at + 4, at + 8))) kept.push(png.subarray(at, end))
  }
  return Buffer.concat(kept)
}

async function decodeJpeg(bytes: Uint8Array): Promise<Pixels | null> {
  const { default: factory } = await import('@jsquash/jpeg/codec/dec/mozjpeg_dec.js')
  // Pixels as stored, ignoring EXIF rotation, like the dimensions in the header.
  const decoder = await instantiate<Decoder>(factory, '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm')
  return decoder.decode(bytes, false)
}

async function decodeWebp(bytes: Uint8Array): Promise<Pixels | null> {
  const { default: factory } = await import('@jsquash/webp/codec/dec/webp_dec.js')
  const decoder = await instantiate<Decoder>(factory, '@jsquash/webp/codec/dec/webp_dec.wasm')
  return decoder.decode(bytes)
}

interface Decoder {
  decode(bytes: Uint8Array, turnsAsTagged?: boolean): Pixels | null
}

interface Encoder {
  encode(data: Uint8ClampedArray, width: number, height: number, options: object): Uint8Array | null
}

interface WasmModule {
  readonly [Symbol.toStringTag]: 'WebAssembly.Module'
}

/** Node's type declarations do not include it. */
declare const WebAssembly: {
  readonly Instance: new (module: WasmModule, imports: object) => { readonly exports: object }
  compile(bytes: Uint8Array): Promise<WasmModule>
}

type Factory<Codec> = (settings: {
  readonly noInitialRun: true
  /** Discards what the codec would log about a broken file. */
  print(line: string): void
  printErr(line: string): void
  instantiateWasm(imports: object, done: (instance: object) => void): unknown
}) => Promise<Codec>

/** A new instance for every picture: it frees its memory and discards its state. */
async function instantiate<Codec>(factory: Factory<Codec>, path: string): Promise<Codec> {
  const module = await wasmModule(path)
  return factory({
    noInitialRun: true,
    print: () => {},
    printErr: () => {},
    instantiateWasm(imports, done) {
      const instance = new WebAssembly.Instance(module, imports)
      done(instance)
      return instance.exports
    },
  })
}

async function encodeWith(factory: Factory<Encoder>, path: string, pixels: Pixels, options: object) {
  const encoder = await instantiate(factory, path)
  const encoded = encoder.encode(pixels.data, pixels.width, pixels.height, options)
  if (encoded === null) throw new Error(`${path} returned nothing.`)
  return encoded
}

const compiled = new Map<string, Promise<WasmModule>>()

function wasmModule(path: string): Promise<WasmModule> {
  const module = compiled.get(path) ?? readWasm(path).then((bytes) => WebAssembly.compile(bytes))
  compiled.set(path, module)
  return module
}
