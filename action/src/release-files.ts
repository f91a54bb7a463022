const systems: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'macos', win32: 'windows' }
const built: ReadonlySet<string> = new Set(['linux-x64', 'linux-arm64', 'macos-arm64', 'windows-x64'])

/**
 * The file of a release for a machine, as Node names its parts: an executable, or the npm package where there is none.
 * @param isMusl whether it has another C library than the executables need
 */
export function releaseFile(version: string, platform: string, arch: string, isMusl: boolean): string {
  // Windows on ARM runs programs for x64.
  const name = platform === 'win32' ? 'windows-x64' : `${systems[platform]}-${arch}`
  if (isMusl || !built.has(name)) return `modelgate-${version}.tgz`
  return `modelgate-${version}-${name}.${platform === 'win32' ? 'zip' : 'tar.gz'}`
}

/** @returns the SHA-256 of a file by the text of SHA256SUMS, in lower case @throws Error if it is not listed */
export function checksumOf(name: string, sums: string): string {
  for (const line of sums.split(/\r?\n/)) {
    const [, digest, listed] = /^([0-9a-fA-F]{64}) [ *](.+)$/.exec(line) ?? []
    if (listed === name) return digest!.toLowerCase()
  }
  throw new Error(`SHA256SUMS of the release does not list ${name}.`)
}
