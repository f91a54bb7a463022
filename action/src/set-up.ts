import { addPath, info } from '@actions/core'
import { cacheDir, downloadTool, evaluateVersions, extractTar, extractZip, find } from '@actions/tool-cache'
import { createHash } from 'node:crypto'
import { createReadStream, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { temporary, workspace, type Inputs } from './inputs.ts'
import { capture, type Words } from './programs.ts'
import { checksumOf, releaseFile } from './release-files.ts'

export interface Program {
  /** The words that start it: an absolute path or a name on the PATH; for a script, behind the Node of the PATH. */
  readonly words: Words
  readonly version: string
}

type SetUpInputs = Pick<Inputs, 'executable' | 'version' | 'repository' | 'mirror' | 'isAttested'>

/**
 * Puts the wanted version on the PATH, from the runner's tool cache or from the release.
 * @param token for the API of GitHub
 * @throws Error when there is no such version, or its checksum or attestation is wrong; then nothing is installed
 */
export async function setUp(inputs: SetUpInputs, token: string): Promise<Program> {
  const { executable } = inputs
  if (executable !== '') {
    const path = /[/\\]/.test(executable) ? resolve(workspace(), executable) : executable
    // On Windows npm makes scripts of the shell, which only a shell can start.
    const words: Words = /\.[cm]?js$/.test(path) ? ['node', path] : [path]
    return { words, version: await versionOf(words) }
  }
  const version = await wantedVersion(inputs, token)
  // A copy whose origin nobody has verified is not taken for one that was.
  const tool = inputs.isAttested ? 'modelgate' : 'modelgate-unattested'
  const kept = find(tool, version)
  const folder = kept === '' ? await install(inputs, tool, version, token) : kept
  info(kept === '' ? `Installed modelgate ${version}` : `modelgate ${version} is in the tool cache`)
  const path = join(folder, process.platform === 'win32' ? 'modelgate.exe' : 'modelgate')
  const found = await versionOf([path])
  if (found !== version) throw new Error(`The release of modelgate ${version} contains modelgate ${found}.`)
  addPath(folder)
  return { words: [path], version }
}

const exact = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/

/** The exact version that is asked for. @throws Error */
async function wantedVersion({ version, repository, mirror }: SetUpInputs, token: string): Promise<string> {
  if (version === '') return ownVersion()
  if (exact.test(version)) return version
  if (mirror !== '') throw new Error(`version must be exact where there is a mirror, not ${version}.`)
  const api = process.env['GITHUB_API_URL'] || 'https://api.github.com'
  const url = `${api}/repos/${repository}/releases?per_page=100`
  const file = await download(url, undefined, token === '' ? undefined : `Bearer ${token}`)
  const releases = JSON.parse(readFileSync(file, 'utf8')) as readonly Release[]
  const versions = releases
    .filter(({ draft, prerelease }) => !draft && !prerelease)
    .map(({ tag_name: tag }) => tag.replace(/^v/, ''))
    .filter((tag) => exact.test(tag))
  const found = evaluateVersions(versions, version === 'latest' ? '*' : version)
  if (found === '') throw new Error(`${repository} has no release that is ${version}.`)
  return found
}

interface Release {
  readonly tag_name: string
  readonly draft: boolean
  readonly prerelease: boolean
}

/** That of the checkout which this file belongs to: who pins the action has pinned the program. */
function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** Downloads it, verifies it, unpacks it. @returns its folder in the tool cache */
async function install(inputs: SetUpInputs, tool: string, version: string, token: string): Promise<string> {
  const { repository, mirror, isAttested } = inputs
  const name = releaseFile(version, process.platform, process.arch, isMusl())
  const releases = mirror || `https://github.com/${repository}/releases/download`
  const target = mkdtempSync(join(temporary(), 'download-'))
  const fetched = async (file: string) =>
    await download(`${releases.replace(/\/+$/, '')}/v${version}/${file}`, join(target, file))
  const expected = checksumOf(name, readFileSync(await fetched('SHA256SUMS'), 'utf8'))
  const archive = await fetched(name)
  const hash = createHash('sha256')
  await pipeline(createReadStream(archive), hash)
  const actual = hash.digest('hex')
  if (actual !== expected) {
    const found = `its SHA-256 is ${actual}, and in SHA256SUMS it is ${expected}`
    throw new Error(`${name} is not the file that was released: ${found}. Nothing was installed.`)
  }
  if (isAttested) await verifyAttestation(archive, repository, version, token)
  const unpacked = await (name.endsWith('.zip') ? extractZip(archive) : extractTar(archive))
  if (!name.endsWith('.tgz')) {
    return await cacheDir(join(unpacked, name.replace(/\.(?:zip|tar\.gz)$/, '')), tool, version)
  }
  const folder = join(unpacked, 'package')
  // Under the name that executables have. Where the PATH has no Node, the one that runs this does it.
  const node = `"$(command -v node || echo '${process.execPath}')"`
  const script = `#!/bin/sh\nexec ${node} "$(dirname "$0")/bin/modelgate.js" "$@"\n`
  writeFileSync(join(folder, 'modelgate'), script, { mode: 0o755 })
  return await cacheDir(folder, tool, version)
}

/** Whether this is a Linux with another C library than glibc, such as Alpine. */
function isMusl(): boolean {
  if (process.platform !== 'linux') return false
  // Otherwise it asks for the names of all connections.
  Object.assign(process.report, { excludeNetwork: true })
  const { header } = process.report.getReport() as {
    readonly header: { readonly glibcVersionRuntime?: string }
  }
  return header.glibcVersionRuntime === undefined
}

/** @returns the path of the file @throws Error naming the address */
async function download(url: string, path?: string, authorization?: string): Promise<string> {
  return await downloadTool(url, path, authorization).catch((error: Error) => {
    throw new Error(`${url} could not be fetched: ${error.message}`, { cause: error })
  })
}

/** Whether the release workflow of that repository has built the file from the tag. @throws Error unless it has */
async function verifyAttestation(
  archive: string,
  repository: string,
  version: string,
  token: string,
): Promise<void> {
  const workflow = `${repository}/.github/workflows/release.yml`
  const origin = [
    '--repo',
    repository,
    '--signer-workflow',
    workflow,
    '--source-ref',
    `refs/tags/v${version}`,
  ]
  const env = { ...process.env, GH_TOKEN: token, GH_PROMPT_DISABLED: '1' }
  const { isDone, isMissing, text } = await capture(['gh', 'attestation', 'verify', archive, ...origin], {
    env,
  })
  if (isDone) return
  const why = isMissing
    ? 'gh is not on this machine. Install it, or accept the checksum alone with attestation: skip'
    : text
  throw new Error(`The origin of ${basename(archive)} was not verified, and nothing was installed: ${why}`)
}

/** @throws Error when it cannot be run */
async function versionOf(words: Words): Promise<string> {
  const { isDone, text } = await capture([...words, '--version'])
  if (isDone) return text
  throw new Error(`${words.join(' ')} cannot be run: ${text}`)
}
