/** Whether a host (as `URL.hostname` spells it) is this machine: clear text may go there, and no proxy stands between. */
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
