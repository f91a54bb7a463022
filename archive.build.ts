/**
 * Packs an executable with its licences, completions and man page into the archive of a release, and prints its path:
 * `node archive.build.ts [--executable FILE] [--platform linux-x64] [--out FOLDER]`. The same files give the same bytes on
 * every machine. The executable's bill of materials goes beside it.
 */
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { constants, crc32, deflateRawSync, gzipSync } from 'node:zlib'

/** What releases are made for, as file names say it; others get the npm package. */
const platforms = ['linux-x64', 'linux-arm64', 'macos-arm64', 'windows-x64']

interface Entry {
  readonly name: string
  readonly content: Buffer
  readonly isExecutable?: boolean
}

/** Of every file, milliseconds: the first day that both formats can say. */
const timestamp = Date.UTC(1980, 0, 1)

const root = import.meta.dirname
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const { values: options } = parseArgs({
  options: {
    executable: { type: 'string' },
    platform: { type: 'string', default: ownPlatform() },
    out: { type: 'string', default: join(root, 'dist-archive') },
  },
})
const { platform, out } = options
if (!platforms.includes(platform)) throw new Error(`No release is made for ${platform}.`)
const isWindows = platform.startsWith('windows-')
const program = isWindows ? 'modelgate.exe' : 'modelgate'
const executable = options.executable ?? join(root, 'dist-executable', program)
const folder = `modelgate-${version}-${platform}`
const path = join(out, `${folder}${isWindows ? '.zip' : '.tar.gz'}`)

mkdirSync(out, { recursive: true })
writeFileSync(
  path,
  isWindows ? zip(entries()) : gzipSync(tar(entries()), { level: constants.Z_BEST_COMPRESSION }),
)
// A scanner finds it beside the archive, without unpacking anything.
copyFileSync(join(dirname(executable), 'modelgate.cdx.json'), join(out, `${folder}.cdx.json`))
console.log(path)

function ownPlatform(): string {
  const systems: Partial<Record<NodeJS.Platform, string>> = { darwin: 'macos', win32: 'windows' }
  return `${systems[process.platform] ?? process.platform}-${process.arch}`
}

/** Everything lies in one folder, so that unpacking litters nothing. */
function entries(): Entry[] {
  const file = (name: string, from = join(root, name)): Entry => ({
    name: `${folder}/${name}`,
    content: readFileSync(from),
  })
  return [
    { ...file(program, executable), isExecutable: true },
    file('LICENSE'),
    // With the licences of Node and of what is in it.
    file('THIRD-PARTY-NOTICES', join(dirname(executable), 'THIRD-PARTY-NOTICES')),
    ...readdirSync(join(root, 'completions'))
      .sort()
      .map((name) => file(`completions/${name}`)),
    file('man/modelgate.1'),
  ]
}

/** A tape archive as POSIX describes it (ustar), owned by root, without times. */
function tar(files: readonly Entry[]): Buffer {
  const blocks = files.flatMap(({ name, content, isExecutable }) => {
    const header = Buffer.alloc(512)
    const octal = (value: number, width: number) => value.toString(8).padStart(width - 1, '0')
    header.write(name, 0)
    header.write(octal(isExecutable ? 0o755 : 0o644, 8), 100)
    header.write(octal(0, 8), 108)
    header.write(octal(0, 8), 116)
    header.write(octal(content.length, 12), 124)
    header.write(octal(timestamp / 1000, 12), 136)
    // The sum of the header is taken with blanks in its place.
    header.write(' '.repeat(8), 148)
    header.write('0', 156)
    header.write('ustar\u000000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${octal(sum, 7)}\u0000 `, 148)
    return [header, content, Buffer.alloc(-content.length & 511)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

/** A zip archive (PKWARE's APPNOTE, version 2.0): every entry deflated, then the central directory. */
function zip(files: readonly Entry[]): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const { name, content, isExecutable } of files) {
    const packed = deflateRawSync(content, { level: constants.Z_BEST_COMPRESSION })
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    // Deflated.
    common.writeUInt16LE(8, 4)
    common.writeUInt16LE(0, 6)
    // Day and month as bit fields, and years since 1980: the timestamp.
    common.writeUInt16LE((1 << 5) | 1, 8)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const unix = Buffer.alloc(14)
    unix.writeUInt32LE(((isExecutable ? 0o100755 : 0o100644) << 16) >>> 0, 6)
    unix.writeUInt32LE(offset, 10)
    local.push(Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), packed)
    // Made by a Unix system, version 2.0, so that the modes count.
    central.push(Buffer.from('PK\u0001\u0002\u0014\u0003', 'latin1'), common, unix, Buffer.from(name))
    offset += 30 + name.length + packed.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...local, directory, Buffer.from('PK\u0005\u0006', 'latin1'), end])
}
