import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { build } from 'rolldown'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** Modules that libraries load at start for things this program never does; each costs milliseconds. */
const unused: Readonly<Record<string, string>> = {
  // commander runs subcommands as executables with it; ours are functions.
  'commander>node:child_process': 'export const spawn = undefined; export default {}',
  // The connection speaks HTTP/1.1 only (allowH2: false).
  'undici>./client-h2.js':
    'module.exports = function connectH2() { throw new Error("HTTP/2 is not part of this build") }',
}

/** How the code names a WebAssembly file of a package: see src/files/wasm-module.ts, which looks for it beside itself. */
const wasmPath = /['"`](@?[\w./-]+\.wasm)['"`]/g

// Through the API rather than the command line, which prints a table of chunks before every `npm start`.
await build({
  input: { main: 'src/main.ts' },
  platform: 'node',
  transform: {
    define: {
      __VERSION__: JSON.stringify(version),
      // undici's own switch for bundles: leaves out its experimental second parser.
      esbuildDetection: '"bundle"',
    },
  },
  output: {
    dir: 'dist',
    format: 'esm',
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    minify: { compress: true, mangle: false },
  },
  plugins: [
    {
      name: 'leave-out-unused',
      resolveId(source, importer) {
        const owner = /node_modules\/(commander|undici)\//.exec(importer ?? '')?.[1]
        const key = `${owner}>${source}`
        return key in unused ? `\0${key}.${key.startsWith('undici') ? 'cjs' : 'mjs'}` : null
      },
      load(id) {
        if (!id.startsWith('\0')) return null
        return unused[id.slice(1).replace(/\.[cm]js$/, '')] ?? null
      },
    },
    {
      name: 'bring-wasm-files',
      moduleParsed({ id, code }) {
        if (id.includes('/node_modules/')) return
        for (const [, path] of (code ?? '').matchAll(wasmPath)) {
          const source = readFileSync(createRequire(import.meta.url).resolve(path!))
          this.emitFile({ type: 'asset', fileName: basename(path!), source })
        }
      },
    },
  ],
})
