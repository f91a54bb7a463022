import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks in a second: what Linux has told programs since long ago, whatever its own clock does. */
const ticks = 100

/**
 * The processor time of a process and of all that it has started, in seconds, with those that have ended. From /proc, so on
 * Linux only.
 */
export function cpuSeconds(root: number): number {
  const children = new Map<number, number[]>()
  const times = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(name)
    if (fields === undefined) continue
    const parent = Number(fields[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    times.set(
      Number(name),
      fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
    )
  }
  const sum = (pid: number): number =>
    (times.get(pid) ?? 0) + (children.get(pid) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(root) / ticks
}

/** How long all processors together have worked since the machine was started, whoever had them, in seconds. */
export function machineSeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n')
  const [user, nice, system, , , irq, softIrq, steal] = line.trim().split(/\s+/).slice(1).map(Number)
  return (user! + nice! + system! + irq! + softIrq! + steal!) / ticks
}

/** The fields of /proc/PID/stat after the name of the program, which may hold anything; undefined for one that has ended. */
function statOf(pid: string): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
