/** Bundles the GitHub Action into action/dist/, which is checked in: GitHub runs what is in the repository. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { build, type BuildOptions } from 'rolldown'
import { writeAscii } from './rolldown.ts'
import { thirdPartyPlugins, type WriteFile } from './third-party.ts'

/** Modules of libraries that the action never calls, by what they export. */
const unused: Readonly<Record<string, readonly string[]>> = {
  // For the API of GitHub behind a proxy, and for its downloads of artifacts.
  undici: ['ProxyAgent', 'fetch'],
  './download/download-artifact.js': ['downloadArtifactPublic', 'downloadArtifactInternal'],
  './delete/delete-artifact.js': ['deleteArtifactPublic', 'deleteArtifactInternal'],
  './find/get-artifact.js': ['getArtifactPublic', 'getArtifactInternal'],
  './find/list-artifacts.js': ['listArtifactsPublic', 'listArtifactsInternal'],
}

const bundle = (write: WriteFile): BuildOptions => ({
  input: { main: 'action/src/main.ts', post: 'action/src/post.ts' },
  platform: 'node',
  output: {
    dir: 'action/dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: {
      groups: [
        { name: 'libraries', test: /node_modules|rolldown|\0/ },
        { name: 'shared', test: /action[\\/]src[\\/]/, minShareCount: 2 },
      ],
    },
    minify: true,
  },
  plugins: [
    {
      name: 'leave-out-unused',
      resolveId(source, importer) {
        const isOwn = /node_modules[\\/]@actions[\\/](?:http-client|artifact)[\\/]/.test(importer ?? '')
        return isOwn && source in unused ? `\0${source}.mjs` : null
      },
      load(id) {
        const names = id.startsWith('\0') ? unused[id.slice(1).replace(/\.mjs$/, '')] : undefined
        return names === undefined ? null : names.map((name) => `export const ${name} = undefined`).join('\n')
      },
    },
    writeAscii(),
    thirdPartyPlugins(write)[0],
  ],
})

/** @returns the files of action/dist/ by their names */
export async function actionFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  const { output } = await build({ ...bundle((name, text) => files.set(name, text)), write: false })
  for (const file of output) files.set(file.fileName, file.type === 'chunk' ? file.code : String(file.source))
  return files
}

if (import.meta.main) {
  const files = await actionFiles()
  const dist = new URL('../action/dist/', import.meta.url)
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist)
  for (const [name, content] of files) writeFileSync(new URL(name, dist), content)
}
