#!/usr/bin/env node
// This file must run on any Node: it is the one that says that a newer one is needed.
// Built-in modules are taken without `import`, which would wrap each of them in a module of its own at every start.

const [major, minor, patch] = process.versions.node.split('.').map(Number)
const newEnough =
  major >= 26 ||
  (major === 24 && minor >= 15) ||
  (major === 22 && (minor > 22 || (minor === 22 && patch >= 2)))

if (!newEnough) {
  process.stderr.write(
    `modelgate needs Node 22.22.2, 24.15.0 or 26 and newer; this is Node ${process.versions.node}. In a clone, npm scripts and npx use the right one.\n`,
  )
  process.exitCode = 2
} else if (isVersionCall() && !mayBeClosed()) {
  // Answered here: loading the program would take longer than the answer.
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.on('error', ({ code }) => {
    // As the program itself does: the reader may go away, and a disk may be full.
    if (code === 'EPIPE') return
    const reason = code === 'ENOSPC' ? 'no space left' : code
    process.stderr.write(`modelgate: Standard output cannot be written: ${reason}.\n`)
    process.exitCode = 10
  })
  process.stdout.write(`${version}\n`)
} else if (process.argv[2] === '__complete') {
  // Asked for by the completion scripts, while TAB waits: a call with anything else would take longer.
  keepCompiledCode()
  const { liveValues } = await import('../dist/complete.js')
  const { env, platform } = process
  const home = process.getBuiltinModule('node:os').homedir()
  process.stdout.on('error', () => {})
  const place = { env, platform, home, cwd: workingDirectory() ?? home, now: Date.now() }
  process.stdout.write(await liveValues(process.argv.slice(3), place))
} else {
  keepCompiledCode()
  const { main, systemContext } = await import('../dist/main.js')
  const context = systemContext()
  await context.end(await main(process.argv.slice(2), context))
}

function isVersionCall() {
  return process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')
}

/**
 * Node replaces a closed standard output with /dev/null, open for reading and writing; so does a program that runs this
 * one from Node and discards its output. The program itself can tell others apart, at the cost of loading it.
 */
function mayBeClosed() {
  const { readFileSync, readlinkSync } = process.getBuiltinModule('node:fs')
  try {
    if (readlinkSync('/proc/self/fd/1') !== '/dev/null') return false
    if (!/^flags:\s*[0-7]*2$/m.test(readFileSync('/proc/self/fdinfo/1', 'latin1'))) return false
    return !readlinkSync(`/proc/${process.ppid}/exe`).endsWith('/node')
  } catch {
    return false
  }
}

/** Undefined when it has been removed. */
function workingDirectory() {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}

function keepCompiledCode() {
  process.getBuiltinModule('node:module').enableCompileCache(process.env.NODE_COMPILE_CACHE ?? codeCache())
}

/**
 * Where compiled code is cached between runs; undefined leaves the choice to Node. The folder is made here, level by level:
 * Node retries forever where the system says that the parent folder is missing, as `/proc` says of every one.
 */
function codeCache() {
  const { env, platform } = process
  const { join } = process.getBuiltinModule('node:path')
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs')
  const base = env.XDG_CACHE_HOME || (platform === 'win32' ? env.LOCALAPPDATA : env.HOME)
  if (!base) return undefined
  const levels = [env.XDG_CACHE_HOME || platform === 'win32' ? '' : '.cache', 'modelgate', 'code']
  const folder = join(base, ...levels)
  if (existsSync(folder)) return folder
  try {
    for (let depth = 1; depth <= levels.length; depth++) {
      const level = join(base, ...levels.slice(0, depth))
      if (!existsSync(level)) mkdirSync(level)
    }
    return folder
  } catch {
    return undefined
  }
}
