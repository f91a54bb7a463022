// What follows the loader in the main script of the single executable: what bin/modelgate.js is in the package.

if (process.argv[2] === '__complete') {
  // Asked for by the completion scripts, while TAB waits.
  const { env, platform } = process
  const home = process.getBuiltinModule('node:os').homedir()
  process.stdout.on('error', () => {})
  const place = { env, platform, home, cwd: workingDirectory() ?? home, now: Date.now() }
  load('./complete.cjs')
    .complete(process.argv.slice(3), place)
    .then((text) => process.stdout.write(text))
} else {
  const { main, systemContext } = load('./main.cjs')
  const context = systemContext()
  main(process.argv.slice(2), context).then((exitCode) => context.end(exitCode))
}

/** Undefined when it has been removed. */
function workingDirectory() {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}
