#!/usr/bin/env node
// This file must run on any Node: it is the one that says that a newer one is needed.
// Built-in modules are taken without `import`, which would wrap each of them in a module of its own at every start.

const [major, minor, patch] = process.versions.node.split('.').map(Number)
/** The scripts of dist/ that have been loaded, by their ids. */
const loaded = new Map()
/** Those of them that had to be compiled. */
const fresh = []
/** How many characters tell a script from all others. */
const headLength = 32

// Otherwise whoever may send this signal opens Node's debugger on a port, and reads keys there.
process.on('SIGUSR1', () => {})

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
  // Asked for by the completion scripts, while TAB waits: loading the program would take longer.
  const { complete } = load('./complete.cjs')
  const { env, platform } = process
  const home = process.getBuiltinModule('node:os').homedir()
  process.stdout.on('error', () => {})
  const place = { env, platform, home, cwd: workingDirectory() ?? home, now: Date.now() }
  process.stdout.write(await complete(process.argv.slice(3), place))
  keepCompiledCode()
} else {
  const { main, systemContext } = load('./main.cjs')
  const context = systemContext()
  const exitCode = await main(process.argv.slice(2), context)
  keepCompiledCode()
  await context.end(exitCode)
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

/**
 * Loads a script of dist/ (`./name.cjs`) or a built-in module: the `require` of these scripts. At the first start of a script
 * all of its functions are compiled, and kept: compiling those that a short call needs takes longer than all its rest.
 * Node's own cache has only what is compiled before a script runs, which is next to nothing.
 */
function load(id) {
  if (!id.startsWith('./')) return process.getBuiltinModule(id)
  const known = loaded.get(id)
  if (known !== undefined) return known.exports
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { fileURLToPath } = process.getBuiltinModule('node:url')
  const filename = fileURLToPath(new URL(`../dist/${id}`, import.meta.url))
  // The build writes ASCII.
  const source = readFileSync(filename, 'latin1')
  const module = { exports: {} }
  loaded.set(id, module)
  // Libraries look for files below their folder. Nothing lies below a file.
  compiled(id, filename, source).runInThisContext()(module.exports, load, module, filename, filename)
  return module.exports
}

function compiled(id, filename, source) {
  const { Script } = process.getBuiltinModule('node:vm')
  const code = `(function(exports,require,module,__filename,__dirname){${source}\n})`
  const file = codeFile(id)
  const cachedData = file && compiledBefore(file, source)
  if (cachedData !== undefined) {
    const script = new Script(code, { filename, cachedData })
    // Made by another V8, or for other flags: the next start compiles it. This one could not any more, since V8 remembers
    // the script as it has compiled it just now.
    if (script.cachedDataRejected) remove(file)
    return script
  }
  if (file === undefined || !canKeep(file)) return new Script(code, { filename })
  const script = withAllFunctions(() => new Script(code, { filename }))
  // Before it runs: V8 would keep, too, which functions have proved not to be worth optimizing in a long run.
  fresh.push({ file, source, code: script.createCachedData() })
  return script
}

function remove(file) {
  try {
    process.getBuiltinModule('node:fs').unlinkSync(file)
  } catch {
    // Then it is rejected again.
  }
}

/** V8 compiles functions when they are called, unless it is told otherwise; and takes back code only with the flags of then. */
function withAllFunctions(compile) {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--no-lazy')
  try {
    return compile()
  } finally {
    setFlagsFromString('--lazy')
  }
}

/**
 * What an earlier start has compiled of just this source. It is code, and runs unseen: nobody else may have written it,
 * whoever owns the folder (a home directory that `sudo` keeps).
 */
function compiledBefore(file, source) {
  const { closeSync, fstatSync, openSync, readFileSync } = process.getBuiltinModule('node:fs')
  let descriptor
  try {
    descriptor = openSync(file, 'r')
    const { uid, mode } = fstatSync(descriptor)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return undefined
    const kept = readFileSync(descriptor)
    return kept.latin1Slice(0, headLength) === headOf(source) ? kept.subarray(headLength) : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** The build has put a digest into the first line. */
function headOf(source) {
  return source.slice(0, headLength)
}

/** Keeps what had to be compiled. A file gets its name when all of it is on disk: V8 does not survive a damaged one. */
function keepCompiledCode() {
  const { closeSync, fsyncSync, openSync, renameSync, writeSync } = process.getBuiltinModule('node:fs')
  try {
    for (const { file, source, code } of fresh) {
      const bytes = Buffer.concat([Buffer.from(headOf(source), 'latin1'), code])
      const part = `${file}.${process.pid}`
      const descriptor = openSync(part, 'w', 0o600)
      for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
      fsyncSync(descriptor)
      closeSync(descriptor)
      renameSync(part, file)
    }
  } catch {
    // The next start tries again.
  }
}

/** Makes the folder of a file, where that is possible. */
function canKeep(file) {
  const { accessSync, constants } = process.getBuiltinModule('node:fs')
  const folder = process.getBuiltinModule('node:path').dirname(file)
  try {
    makeFolder(folder)
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Level by level: Node itself retries forever where the system says that the parent is missing, as `/proc` always does. */
function makeFolder(folder) {
  const { existsSync, mkdirSync } = process.getBuiltinModule('node:fs')
  if (existsSync(folder)) return
  makeFolder(process.getBuiltinModule('node:path').dirname(folder))
  mkdirSync(folder)
}

/**
 * Where the compiled code of a script is kept; undefined keeps none. Another Node takes other code, and what one user has
 * compiled no other is to run.
 */
function codeFile(id) {
  const { arch, env, getuid, platform, version } = process
  const { isAbsolute, join } = process.getBuiltinModule('node:path')
  if (env.NODE_DISABLE_COMPILE_CACHE) return undefined
  const base = env.XDG_CACHE_HOME || (platform === 'win32' ? env.LOCALAPPDATA : env.HOME)
  const ours = [env.XDG_CACHE_HOME || platform === 'win32' ? '' : '.cache', 'modelgate', 'code']
  const folder = env.NODE_COMPILE_CACHE || (base && join(base, ...ours))
  // Else it would be where the program happens to run: a cloned repository could bring code.
  if (!folder || !isAbsolute(folder)) return undefined
  return join(folder, `${version}-${arch}-${getuid?.() ?? 'user'}`, `${id}.v8`)
}
