import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions, type OutputAsset, type OutputChunk, type Plugin } from 'rolldown'
import { completedCommands, helpPage, manual } from './pages.ts'
import { thirdPartyPlugins, type WriteFile } from './third-party.ts'

const root = new URL('../', import.meta.url)

const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }

/** Modules that libraries load at start for things this program never does; each costs milliseconds. */
const unused: Readonly<Record<string, string>> = {
  // commander runs subcommands as executables with it; ours are functions.
  'commander>node:child_process': 'export const spawn = undefined; export default {}',
  // It only asks whether a body is one of Node's own replies, and how long headers may be (Node's default).
  'undici>node:http': 'module.exports = { IncomingMessage: class {}, maxHeaderSize: 16_384 }',
  // It calls nothing but the function itself.
  'undici>node:assert':
    'module.exports = (value, message) => { if (!value) throw message instanceof Error ? message : new Error(message) }',
  // The connection speaks HTTP/1.1 only (allowH2: false).
  'undici>./client-h2.js':
    'module.exports = function connectH2() { throw new Error("HTTP/2 is not part of this build") }',
  // Bodies are chunks of bytes, never forms: a tenth of what a request loads would be for these.
  'undici>../web/fetch/body.js': 'module.exports = {}',
  'undici>../web/fetch/formdata': 'module.exports = {}',
  'undici>../web/webidl': 'module.exports = { webidl: { is: { FormData: () => false } } }',
  // Of BullMQ are taken queues and workers over `pg` and `ioredis`, whose handlers are functions: no processes of their own,
  // no repeated jobs, no other clients.
  'bullmq>./child-pool': 'export const ChildPool = undefined',
  'bullmq>./sandbox': 'export default undefined',
  'bullmq>./job-scheduler': `export const JobScheduler = undefined
    export const getLegacyRepeatableJobError = undefined
    export const hasLegacyRepeatableKeyShape = () => false`,
  'bullmq>./node-redis-client': 'export const createNodeRedisClient = undefined',
  'bullmq>./bun-redis-client': 'export const createBunRedisClient = undefined',
  // A native addon that makes MessagePack faster; it is looked for on the disk at start.
  'bullmq>msgpackr': 'export { Packr } from "msgpackr/pack"',
  // What DEBUG would have it print holds passwords and prompts.
  'ioredis>debug': 'exports.default = () => Object.assign(() => {}, { enabled: false })',
  'ioredis>./cluster': 'exports.default = class Cluster {}',
  'pg>./native': 'module.exports = undefined',
  'pg>pg-cloudflare': 'exports.CloudflareSocket = undefined',
}

/** The modules of BullMQ that the program needs: its entry has all of them, as CommonJS, of which nothing can be left out. */
const bullmqEntry = Object.entries({
  'classes/queue': 'Queue',
  'classes/queue-events': 'QueueEvents',
  'classes/errors/rate-limit-error': 'RateLimitError',
  'classes/worker': 'Worker',
  'classes/errors/delayed-error': 'DelayedError',
  'utils/create-backend': 'createRedisBackend',
  'postgres/postgres-connection': 'PostgresConnection',
  'postgres/postgres-queue-backend': 'PostgresQueueBackend',
  'postgres/migrator': 'runMigrations',
})
  .map(([path, name]) => `export { ${name} } from "bullmq/dist/esm/${path}.js"`)
  .join('\n')

/**
 * The code of a module that takes a built-in one without `import`, for which Node would call each of its getters,
 * and so load what hides behind them: `node:fs` alone brings its streams and promises, 4 ms.
 */
function builtinModule(name: string, isRequired: boolean): string {
  const taken = `process.getBuiltinModule(${JSON.stringify(name)})`
  if (isRequired) return `module.exports = ${taken}`
  if (loadedOnCall.has(name)) return lazyFunctions(name, taken)
  const names = Object.keys(process.getBuiltinModule(name) as object).filter((key) => key !== 'default')
  const exports = names.map((key) => `export const ${key} = /* @__PURE__ */ (() => module.${key})()`)
  return [`const module = /* @__PURE__ */ ${taken}`, 'export default module', ...exports].join('\n')
}

/** Built-in modules of which most runs call nothing: each costs 2 to 7 ms. */
const loadedOnCall: ReadonlySet<string> = new Set(['node:crypto', 'node:fs/promises', 'node:zlib'])

function lazyFunctions(name: string, taken: string): string {
  const functions = Object.entries(process.getBuiltinModule(name) as object).filter(
    ([, value]) => typeof value === 'function',
  )
  return functions
    .map(([key]) => `export const ${key} = (...values) => ${taken}.${key}(...values)`)
    .join('\n')
}

/** One UTF-16 unit, as it may stand in a string, a name or a regular expression; raw templates hold none here. */
function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** As soon as one character needs two bytes, Node keeps the whole file so, and goes through all of it at every start. */
export function writeAscii(): Plugin {
  return {
    name: 'write-ascii',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === 'chunk') file.code = file.code.replaceAll(/[^\0-\x7f]/g, escapeCharacter)
      }
    },
  }
}

const exportGetter =
  /Object\.defineProperty\(exports, ["'](\S+)["'], \{\s*enumerable: true,\s*get: function ?\(\) \{\s*return (\S+);\s*\}\s*\}\);/g

/** Exports what never changes as a value: a getter of each takes 4 to 8 % of the time of a long stream. */
function plainExports(): Plugin {
  return {
    name: 'plain-exports',
    renderChunk(code) {
      const declared = code.matchAll(
        /^(?:(?:async )?function\*?|class|const) ([\w$]+)|^var ([\w$]+) = class\b/gm,
      )
      const constants = new Set([...declared].map(([, name, className]) => name ?? className))
      return code.replaceAll(exportGetter, (getter, name: string, local: string) =>
        constants.has(local) ? `exports[${JSON.stringify(name)}] = ${local};` : getter,
      )
    },
  }
}

/** Modules by their paths below src/. @throws when one is gone: its group would fall apart, and each start take longer */
function modules(...paths: readonly string[]): RegExp {
  const gone = paths.filter((path) => !existsSync(new URL(`src/${path}.ts`, root)))
  if (gone.length > 0) throw new Error(`The groups of the bundle name what is gone: ${gone.join(', ')}`)
  return new RegExp(String.raw`src[\\/](?:${paths.join('|').replaceAll('/', String.raw`[\\/]`)})\.ts$`)
}

/** How the code names a WebAssembly file of a package: src/files/program-files.ts looks for it beside itself. */
const wasmPath = /['"`](@?[\w./-]+\.wasm)['"`]/g

/** What runs in a thread is started from a file of its own (`src/files/program-files.ts`). */
export const threads = { 'schema-worker': 'src/operations/schema-worker.ts' }

const bundle: BuildOptions = {
  input: { main: 'src/main.ts', ...threads },
  platform: 'node',
  // It tells of each step.
  onLog: (level, log, tell) => log.plugin === 'rollup-plugin-sbom' || tell(level, log),
  transform: {
    define: {
      __VERSION__: JSON.stringify(version),
      __HELP_PAGE__: JSON.stringify(JSON.stringify(await helpPage(version))),
      // undici's own switch for bundles: leaves out its experimental second parser.
      esbuildDetection: '"bundle"',
    },
  },
  output: {
    dir: 'dist',
    // What bin/modelgate.js compiles itself, which it could not do with modules of ECMAScript.
    format: 'cjs',
    dynamicImportInCjs: false,
    cleanDir: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    // Each file costs a start about half a millisecond. A group takes along all that its modules import,
    // so no file of the bundle waits for another that waits for it.
    codeSplitting: {
      groups: [
        // What answers `--help`, too.
        { name: 'start', test: modules('context', 'output/help-page'), priority: 4 },
        { name: 'program', test: modules('program', 'command-entries'), priority: 3 },
        {
          name: 'request',
          test: modules(
            'commands/shared/request/build-request',
            'commands/shared/request/contract-flags',
            'commands/shared/request/text-prompt',
            'commands/shared/call/run-operation',
            'commands/shared/call/dry-run',
            'output/create-output',
            'gateway/message-reader',
            'operations/operation',
            'files/media-type',
            'contract/command-inputs',
            'commands/shared/log/log-call',
            'files/calls/call-book',
          ),
          priority: 2,
        },
        {
          name: 'text',
          test: modules(
            'commands/shared/text/text-command',
            'commands/shared/request/tool-flag',
            'operations/generate-text',
            'operations/answer-schema',
            'operations/response-request',
            'operations/content-request',
            'contract/generate-content',
            'contract/responses',
          ),
          priority: 1,
        },
        {
          name: 'media',
          test: modules(
            'files/image-info',
            'files/media-file',
            'files/stream-media',
            'files/output-plan',
            'gateway/download/download',
          ),
          priority: 1,
        },
        {
          name: 'responses',
          test: modules('gateway/responses/decoder', 'gateway/responses/transcript'),
          priority: 1,
        },
        {
          name: 'video',
          test: modules('commands/video', 'commands/wait', 'contract/videos', 'operations/jobs'),
        },
      ],
    },
    minify: { compress: true, mangle: false },
  },
  plugins: [
    {
      name: 'leave-out-unused',
      async resolveId(source, importer) {
        if (source === 'bullmq') return '\0bullmq.mjs'
        if (importer?.startsWith('\0bullmq')) {
          const found = await this.resolve(source, fileURLToPath(import.meta.url), { skipSelf: true })
          return found && { ...found, moduleSideEffects: false }
        }
        const owner = /node_modules\/(commander|undici|bullmq|ioredis|pg)\//.exec(importer ?? '')?.[1]
        const key = `${owner}>${source.replace(/^(?:\.\.\/)+(?:classes|utils)\/|^\.\.\/(?=cluster$)/, './')}`
        return key in unused ? `\0${key}.${/\bexport\b/.test(unused[key]!) ? 'mjs' : 'cjs'}` : null
      },
      load(id) {
        if (id === '\0bullmq.mjs') return { code: bullmqEntry, moduleSideEffects: false }
        if (!id.startsWith('\0')) return null
        return unused[id.slice(1).replace(/\.[cm]js$/, '')] ?? null
      },
    },
    {
      // undici has its parser as base64, twice: with SIMD and without. As files beside the bundle one of them is read.
      name: 'take-parser-files',
      resolveId(source, importer) {
        if (importer?.startsWith('\0parser>')) return { id: source, external: true }
        const name = /^\.\.\/llhttp\/(\w+)-wasm\.js$/.exec(source)?.[1]
        return name === undefined ? null : `\0parser>${name}.cjs`
      },
      load(id) {
        const name = /^\0parser>(\w+)\.cjs$/.exec(id)?.[1]
        if (name === undefined) return null
        const require = createRequire(import.meta.url)
        const originalFileName = require.resolve(`undici/lib/llhttp/${name}-wasm.js`)
        const source = require(originalFileName) as Buffer
        this.emitFile({ type: 'asset', fileName: `${name}.wasm`, originalFileName, source })
        return `module.exports = require('./${name}.wasm')`
      },
    },
    {
      name: 'take-builtin-modules',
      resolveId(source, importer, { kind }) {
        if (!isBuiltin(source) || kind === 'dynamic-import' || importer?.startsWith('\0rolldown')) return null
        const name = source.startsWith('node:') ? source : `node:${source}`
        return `\0builtin>${name}.${kind === 'require-call' ? 'cjs' : 'mjs'}`
      },
      load(id) {
        const [, name, extension] = /^\0builtin>(.*)\.([cm]js)$/.exec(id) ?? []
        if (name === undefined) return null
        return { code: builtinModule(name, extension === 'cjs'), moduleSideEffects: false }
      },
    },
    plainExports(),
    writeAscii(),
    {
      // Tells bin/modelgate.js whether it has compiled just this code before.
      name: 'write-digest',
      generateBundle(_, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== 'chunk') continue
          file.code = `//${createHash('sha256').update(file.code).digest('hex').slice(0, 30)}\n${file.code}`
        }
      },
    },
    {
      name: 'bring-wasm-files',
      moduleParsed({ id, code }) {
        if (id.includes('/node_modules/') || id.startsWith('\0parser>')) return
        for (const [, path] of (code ?? '').matchAll(wasmPath)) {
          const originalFileName = createRequire(import.meta.url).resolve(path!)
          const source = readFileSync(originalFileName)
          this.emitFile({ type: 'asset', fileName: basename(path!), originalFileName, source })
        }
      },
    },
  ],
}

/** What answers the completion scripts: a bundle of its own, so that it needs no file of the program. */
const completionBundle: BuildOptions = {
  ...bundle,
  input: { complete: 'build/complete.ts' },
  transform: {
    define: { __COMPLETED_COMMANDS__: JSON.stringify(await completedCommands(version)) },
  },
  output: {
    dir: 'dist',
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: 'complete-[name]-[hash].cjs',
    minify: { compress: true, mangle: false },
  },
}

/** What is in a bundle, file by file. */
export type BundledFiles = readonly (OutputChunk | OutputAsset)[]

/**
 * Builds the program, and what answers the completion scripts.
 * @param write is given the notices and the bill of materials
 * @param options `isWritten`: into dist/; `node`: what versions of Node will be part of it
 */
export async function buildProgram(
  write: WriteFile,
  { isWritten = false, node }: { readonly isWritten?: boolean; readonly node?: NodeJS.ProcessVersions } = {},
): Promise<BundledFiles> {
  // Through the API rather than the command line, which prints a table of chunks before every `npm start`.
  const plugins = [bundle.plugins, thirdPartyPlugins(write, node)]
  const program = await build({ ...bundle, plugins, write: isWritten })
  // Of packages it holds nothing that the program does not.
  const completion = await build({ ...completionBundle, write: isWritten })
  return [...program.output, ...completion.output]
}

if (import.meta.main) {
  const write = (name: string, text: string) => writeFileSync(new URL(name, root), text)
  await buildProgram(write, { isWritten: true })
  mkdirSync(new URL('man', root), { recursive: true })
  write('man/modelgate.1', await manual(version))
}
