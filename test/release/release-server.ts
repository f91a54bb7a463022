import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import { onTestFinished } from 'vitest'
import { projectRoot, readPage } from '../support/pages.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

export const { version } = JSON.parse(readPage('package.json')) as { version: string }

/** Packs a program that says a version, with all that belongs to it, by `build/archive.sh`. @returns the archive */
export function packProgram(script: string, platform: string, folder = temporaryFolder()): string {
  const name = platform.startsWith('windows') ? 'modelgate.exe' : 'modelgate'
  writeFiles(folder, {
    [name]: script,
    'THIRD-PARTY-NOTICES': 'Node and others\n',
    'modelgate.cdx.json': '{"bomFormat":"CycloneDX"}\n',
  })
  const args = ['build/archive.sh', platform, folder, folder]
  return execFileSync('bash', args, { cwd: projectRoot, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** A line of `SHA256SUMS` for a file. */
export function checksumLine(path: string): string {
  return `${createHash('sha256').update(readFileSync(path)).digest('hex')}  ${basename(path)}\n`
}

/** What a path is answered with: bytes, or fewer of them than the reply promises. A path that is missing is 404. */
export type ReleaseFiles = Readonly<Record<string, Buffer | string | { readonly torn: Buffer }>>

/** Serves releases as GitHub does, until the test ends. @returns their address */
export async function releaseServer(files: ReleaseFiles): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const file = files[url.slice(1)]
    if (file === undefined) return void response.writeHead(404).end('Not Found')
    if (typeof file === 'string' || !('torn' in file)) return void response.end(file)
    response.writeHead(200, { 'content-length': file.torn.length })
    response.write(file.torn.subarray(0, file.torn.length / 2), () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
