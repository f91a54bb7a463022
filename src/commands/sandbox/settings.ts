import { badPorts } from '../../config/bad-ports.ts'
import { UsageError } from '../../errors.ts'
import type { LatencyProfile } from '../../sandbox/sandbox.ts'

/** @throws UsageError for anything but a port that HTTP clients connect to, or 0 for any */
export function parsePort(value = '0'): number {
  const port = wholeNumber('--port', value, 65_535)
  if (port !== 0 && badPorts.has(port)) {
    throw new UsageError(
      `--port ${port} belongs to another protocol: HTTP clients refuse to connect to it.`,
      {
        code: 'bad_port',
        hint: 'Choose a port above 1024, such as 8080, or leave --port out.',
      },
    )
  }
  return port
}

/** @throws UsageError */
export function parseSeed(value = '1'): number {
  return wholeNumber('--seed', value, Number.MAX_SAFE_INTEGER)
}

/** @throws UsageError for anything but `none`, `natural` and milliseconds */
export function parseLatency(value = 'natural'): LatencyProfile {
  if (value === 'none' || value === 'natural') return value
  if (/^\d{1,6}$/.test(value)) return Number(value)
  throw new UsageError(`--latency must be none, natural or a number of milliseconds, not "${value}".`)
}

function wholeNumber(flag: string, value: string, most: number): number {
  const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN
  if (number <= most) return number
  throw new UsageError(`${flag} must be a whole number from 0 to ${most}, not "${value}".`)
}
