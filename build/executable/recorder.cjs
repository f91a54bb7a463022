// Precedes the loader in the executable that only the build runs: at the end of each thread it writes what V8 has
// compiled by then, a file for each chunk, into the folder MODELGATE_CODE. The first run of a chunk decides.
'use strict'

const vm = process.getBuiltinModule('node:vm')
const { writeFileSync } = process.getBuiltinModule('node:fs')
const { parentPort } = process.getBuiltinModule('node:worker_threads')

const scripts = new Map()

vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options)
    scripts.set(options.filename, this)
  }
}

function writeCode() {
  for (const [name, script] of scripts) {
    try {
      writeFileSync(`${process.env.MODELGATE_CODE}/${name}.v8`, script.createCachedData(), { flag: 'wx' })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
  }
}

if (parentPort === null) process.on('exit', writeCode)
else {
  // Threads of the program are terminated once they have answered.
  const send = parentPort.postMessage
  parentPort.postMessage = (...values) => {
    writeCode()
    send.apply(parentPort, values)
  }
}
