// Loaded before a program with --import: writes the most memory it ever held, in bytes, when it ends.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => writeFileSync(process.env.BENCH_MEMORY_FILE, String(peak())))

function peak() {
  try {
    // Unlike maxRSS, this leaves out what the parent held when it started this process.
    return /^VmHWM:\s*(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1] * 1024
  } catch {
    return process.resourceUsage().maxRSS * 1024
  }
}
