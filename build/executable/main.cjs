// What follows the loader in the main script of the single executable: what bin/modelgate.js is in the package.

if (process.argv[2] === '__complete') load('./complete.cjs').answerShell()
else {
  const { main, systemContext } = load('./main.cjs')
  const context = systemContext()
  main(process.argv.slice(2), context).then((exitCode) => context.end(exitCode))
}
