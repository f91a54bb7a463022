/** Writes what is generated from the command tree: the blocks of the pages and of the skill. `npm run generate`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { generatedFiles } from './generated-files.ts'
import { projectRoot } from './pages.ts'

const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8')) as {
  version: string
}
// The bundle and the test runner put it in; here the source runs as it is.
Object.assign(globalThis, { __VERSION__: version })

for (const [path, content] of await generatedFiles()) {
  const file = new URL(path, projectRoot)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, content)
}
