#!/usr/bin/env node
// This file must run on any Node: it is the one that says that a newer one is needed.
// Built-in modules are taken without `import`, which would wrap each of them in a module of its own at every start.

const [major, minor, patch] = process.versions.node.split('.').map(Number)
/** The scripts of dist/ that have been loaded, by their ids. */
const loaded = new Map()
/** Those of them that had to be compiled, and where their code is to be kept, after their digest. */
const fresh = []

// Otherwise whoever may send this signal opens Node's debugger on a port, and reads keys there.
process.on('SIGUSR1', () => {})

const newEnough =
  major >= 26 ||
  (major === 24 && minor >= 15) ||
  (major === 22 && (minor > 22 || (minor === 22 && patch >= 2)))
const [fs, path, vm] = newEnough ? ['node:fs', 'node:path', 'node:vm'].map(process.getBuiltinModule) : []

if (!newEnough) {
  process.stderr.write(
    `modelgate needs Node 22.22.2, 24.15.0 or 26 and newer; this is Node ${process.versions.node}. In a clone, npm scripts and npx use the right one.\n`,
  )
  process.exitCode = 2
} else if (process.argv.length === 3 && /^(--version|-V)$/.test(process.argv[2]) && !attempt(mayBeClosed)) {
  // Answered here: loading the program would take longer than the answer.
  const { version } = JSON.parse(fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
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
  await load('./complete.cjs').answerShell()
  attempt(keepCompiledCode)
} else {
  const { main, systemContext } = load('./main.cjs')
  const context = systemContext()
  const exitCode = await main(process.argv.slice(2), context)
  // A mistyped command calls next to nothing.
  if (exitCode !== 2) attempt(keepCompiledCode)
  await context.end(exitCode)
}

/** What a function returns; undefined when it throws. */
function attempt(action) {
  try {
    return action()
  } catch {
    return undefined
  }
}

/**
 * Node replaces a closed standard output with /dev/null, open for reading and writing; so does a program that runs this
 * one from Node and discards its output. The program itself can tell others apart, at the cost of loading it.
 */
function mayBeClosed() {
  return (
    fs.readlinkSync('/proc/self/fd/1') === '/dev/null' &&
    /^flags:\s*[0-7]*2$/m.test(fs.readFileSync('/proc/self/fdinfo/1', 'latin1')) &&
    !fs.readlinkSync(`/proc/${process.ppid}/exe`).endsWith('/node')
  )
}

/**
 * Loads a script of dist/ (`./name.cjs`), a built-in module, or the bytes of a WebAssembly file: the `require` of these
 * scripts. Of a script the functions are kept that the first run of a command has called: compiling them takes longer
 * than all the rest of a short call. Node's own cache has only what is compiled before a script runs, which is next to
 * nothing; with all functions of a script, half of what is read would be for nothing.
 */
function load(id) {
  if (!id.startsWith('./')) return process.getBuiltinModule(id)
  const known = loaded.get(id)
  if (known !== undefined) return known.exports
  const filename = path.join(import.meta.dirname, '../dist', id)
  if (id.endsWith('.wasm')) return fs.readFileSync(filename)
  // The build writes ASCII.
  const source = fs.readFileSync(filename, 'latin1')
  const module = { exports: {} }
  loaded.set(id, module)
  // Libraries look for files below their folder. Nothing lies below a file.
  compiled(id, filename, source).runInThisContext()(module.exports, load, module, filename, filename)
  return module.exports
}

function compiled(id, filename, source) {
  const code = `(function(exports,require,module,__filename,__dirname){${source}\n})`
  // The build has put a digest into the first line.
  const head = Buffer.from(source.slice(0, 32), 'latin1')
  const file = codeFile(id)
  const cachedData = file && attempt(() => keptCode(file, head))
  const script = new vm.Script(code, { filename, cachedData })
  // Rejected: made by another V8, or for other flags.
  if (file && (!cachedData || script.cachedDataRejected)) fresh.push({ file, head, script })
  return script
}

/**
 * Where the compiled code of a script is kept; undefined keeps none. It is code, and runs unseen: it lies where the program
 * does not just happen to run (a cloned repository could bring code), for each Node, user and command by itself.
 */
function codeFile(id) {
  const { arch, env, getuid, platform, version } = process
  if (env.NODE_DISABLE_COMPILE_CACHE) return undefined
  const cache =
    env.XDG_CACHE_HOME ||
    (platform === 'win32' ? env.LOCALAPPDATA : env.HOME && path.join(env.HOME, '.cache'))
  const folder = env.NODE_COMPILE_CACHE || (cache && path.join(cache, 'modelgate/code'))
  if (!folder || !path.isAbsolute(folder)) return undefined
  const [command = '--help', ...words] = process.argv.slice(2)
  const isHelp = [command, ...words].some((word) => /^(-h|--help)$/.test(word))
  const called = isHelp ? 'help' : /^\w+$/.test(command) ? command : 'options'
  return path.join(folder, `${version}-${arch}-${getuid?.() ?? 'user'}`, called, `${id}.v8`)
}

/** What was kept of just this source, if nobody else can have written it, whoever owns the folder (as `sudo` keeps HOME). */
function keptCode(file, head) {
  const descriptor = fs.openSync(file, 'r')
  try {
    const { uid, mode } = fs.fstatSync(descriptor)
    if (process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0)) return undefined
    const kept = fs.readFileSync(descriptor)
    return kept.subarray(0, head.length).equals(head) ? kept.subarray(head.length) : undefined
  } finally {
    fs.closeSync(descriptor)
  }
}

/** A file gets its name when all of it is on disk: V8 does not survive a damaged one. Where that fails, the next start tries. */
function keepCompiledCode() {
  for (const { file, head, script } of fresh) {
    makeFolder(path.dirname(file))
    const part = `${file}.${process.pid}`
    fs.writeFileSync(part, Buffer.concat([head, script.createCachedData()]), { mode: 0o600, flush: true })
    fs.renameSync(part, file)
  }
}

/**
 * Level by level: Node itself retries forever where the system says that the parent is missing, as `/proc` always does.
 * @returns true @throws where nothing can be written
 */
function makeFolder(folder) {
  if (!fs.existsSync(folder) && makeFolder(path.dirname(folder))) fs.mkdirSync(folder)
  fs.accessSync(folder, fs.constants.W_OK)
  return true
}
