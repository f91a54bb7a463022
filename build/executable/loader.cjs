// The first part of each script of the single executable: `load` is the `require` of the chunks, which are assets. Each
// comes with the code that V8 compiled of it at the build, so that a start compiles next to nothing.
'use strict'

const { getRawAsset } = process.getBuiltinModule('node:sea')
const { Script } = process.getBuiltinModule('node:vm')

const loaded = new Map()

/** Loads a chunk of the program (`./name.cjs`), a built-in module, or a WebAssembly file, and nothing else: no file can get in the way. */
// oxlint-disable-next-line no-unused-vars -- the next part of the script calls it
function load(id) {
  if (!id.startsWith('./')) return process.getBuiltinModule(id)
  if (id.endsWith('.wasm')) return Buffer.from(getRawAsset(id.slice(2)))
  let module = loaded.get(id)
  if (module === undefined) {
    const filename = id.slice(2)
    // The build has put the chunk into a function, and made sure that it is ASCII.
    const source = Buffer.from(getRawAsset(filename)).latin1Slice()
    const script = new Script(source, { filename, cachedData: Buffer.from(getRawAsset(`${filename}.v8`)) })
    module = { exports: {} }
    loaded.set(id, module)
    // Libraries look for files below their folder. Nothing lies below a file.
    script.runInThisContext()(module.exports, load, module, filename, process.execPath)
  }
  return module.exports
}
