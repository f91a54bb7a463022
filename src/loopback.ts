/**
 * Whether a host (in the form of `URL.hostname`) is this machine: plain http is allowed there, and no proxy is used.
 */
export function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(name) ||
    /^\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\]$/.test(name)
  )
}
