/** The little of WebAssembly that is used here: the type libraries of Node leave it to those of browsers. */
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: string
  }
  type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>
  class Instance {
    constructor(module: Module, imports: Imports)
    readonly exports: Readonly<Record<string, unknown>>
  }
  function compile(bytes: Uint8Array): Promise<Module>
}
