/** Writes what is generated from the command tree: completions/ and the blocks of the pages in docs/. `npm run generate`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { generatedFiles } from './generated-files.ts'
import { projectRoot } from './pages.ts'

const { version } = JSON.parse(readFileSync(new URL('package.json', projectRoot), 'utf8')) as {
  version: string
}
// The bundle and the test runner put it in; here the source runs as it is.
Object.assign(globalThis, { __VERSION__: version })

mkdirSync(new URL('completions/', projectRoot), { recursive: true })
for (const [path, content] of await generatedFiles()) writeFileSync(new URL(path, projectRoot), content)
