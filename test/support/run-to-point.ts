import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Spawned } from '../black-box/spawn-program.ts'
import { temporaryFolder } from './temporary-folder.ts'

const killPoint = fileURLToPath(new URL('kill-point.ts', import.meta.url))

/**
 * Runs the program until it is about to do something of the given number: to change a file, or to send something.
 * @param start with these variables in its environment
 * @param point 0 for a run to its end
 * @param turns of its event loop that it goes on after that; then it may come to its end before
 * @returns what it did up to there, an entry each
 */
export async function runToPoint(
  start: (env: Readonly<Record<string, string>>) => Spawned,
  point: number,
  turns = 0,
): Promise<readonly string[]> {
  const log = join(temporaryFolder(), 'points')
  const { exit } = await start({
    KILL_POINT: String(point),
    KILL_TURNS: String(turns),
    KILL_POINT_LOG: log,
    NODE_OPTIONS: `--import=${killPoint}`,
  }).ended
  const points = readFileSync(log, 'utf8').trimEnd().split('\n')
  if (point > 0 && turns === 0 && points.length >= point) expect(exit).toBe('SIGKILL')
  return points
}

/** Where each kind of thing is done first, and last: to a file, whose name is taken without what is chance in it. */
export function namedPoints(points: readonly string[]) {
  const [first, last] = [new Map<string, number>(), new Map<string, number>()]
  for (const [at, point] of points.entries()) {
    const name = point.replace(/^\d+ /, '').replaceAll(/[0-9a-f]{8,}|\b[0-9a-f]{2}\b|\d+|-#/g, '#')
    if (!first.has(name)) first.set(name, at + 1)
    last.set(name, at + 1)
  }
  const once = [...last.values()].filter((point) => ![...first.values()].includes(point))
  return { first: [...first.values()], last: once }
}
