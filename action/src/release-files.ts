const systems: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'macos', win32: 'windows' }
const built: ReadonlySet<string> = new Set([
  'linux-x64',
  'linux-arm64',
  'macos-x64',
  'macos-arm64',
  'windows-x64',
])

/**
 * The archive of a release for a machine, as Node names its parts.
 * @throws Error for one that none is built for
 */
export function archiveName(version: string, platform: string, arch: string): string {
  const system = systems[platform] ?? platform
  // Windows on ARM runs programs for x64.
  const name = system === 'windows' && arch === 'arm64' ? 'windows-x64' : `${system}-${arch}`
  if (!built.has(name)) {
    throw new Error(
      `There is no executable of modelgate for ${name}. Install the npm package, and name its bin/modelgate.js with executable:`,
    )
  }
  return `modelgate-${version}-${name}.${system === 'windows' ? 'zip' : 'tar.gz'}`
}

/** @returns the SHA-256 of a file by the text of SHA256SUMS, in lower case @throws Error if it is not listed */
export function checksumOf(name: string, sums: string): string {
  for (const line of sums.split(/\r?\n/)) {
    const [, digest, listed] = /^([0-9a-fA-F]{64}) [ *](.+)$/.exec(line) ?? []
    if (listed === name) return digest!.toLowerCase()
  }
  throw new Error(`SHA256SUMS of the release does not list ${name}.`)
}
