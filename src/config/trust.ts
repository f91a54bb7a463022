import { configError } from './problem.ts'

/**
 * Lets a project file choose the address only among those that the user trusts:
 * a key never goes to an address that a cloned repository chose.
 * @param userFile where the user may add the origin
 * @throws UsageError naming the origin and the setting to add
 */
export function requireTrust(
  url: URL,
  trustedOrigins: readonly string[],
  source: string,
  userFile: string,
): void {
  if (trustedOrigins.includes(url.origin)) return
  throw configError(
    `The base URL (${source}) leads to ${url.origin}, which you have not trusted with your key.`,
    `If it is yours, add ${url.origin} to trusted_origins in ${userFile}, ` +
      `or set MODELGATE_TRUSTED_ORIGINS=${url.origin}; else choose another address with --base-url.`,
  )
}
