/** The part of WebAssembly used here: Node's type declarations do not include it. */
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
