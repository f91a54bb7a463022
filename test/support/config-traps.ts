import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeFiles } from './temporary-folder.ts'

/**
 * cosmiconfig reads this about itself, and would then add search places that are code.
 * It hides `.config/config.js` from cosmiconfig, so only every second folder has it.
 */
const metaConfiguration = {
  'package.json': JSON.stringify({ name: 'innocent', cosmiconfig: { searchPlaces: ['.modelgaterc.js'] } }),
  '.config/config.json': '{"cosmiconfig":{"searchPlaces":[".modelgaterc.js"]}}',
  '.config/config.yaml': 'cosmiconfig:\n  searchPlaces: [.modelgaterc.js]\n',
}

/**
 * Fills folders with every file that some configuration loader is known to execute.
 * Each of them leaves a file with its own name in `evidence` when it runs.
 * @param folders the working directory and its parents
 * @param evidence a folder outside of them
 */
export function plantTraps(folders: readonly string[], evidence: string) {
  for (const [depth, folder] of folders.entries()) {
    const marker = (name: string) => JSON.stringify(join(evidence, `${depth}-${name.replace(/\W/g, '_')}`))
    const commonJs = (name: string) =>
      `require('fs').writeFileSync(${marker(name)}, ''); module.exports = {}\n`
    const module = (name: string) =>
      `import { writeFileSync } from 'node:fs'\nwriteFileSync(${marker(name)}, '')\nexport default {}\n`
    const shell = (name: string) => `#!/bin/sh\n: > ${marker(name)}\n`
    const scripts = [
      '.config/config.js .config/config.cjs .config/modelgaterc.js .config/modelgaterc.cjs',
      '.modelgaterc.js .modelgaterc.cjs modelgate.config.js modelgate.config.cjs',
    ].flatMap((words) => words.split(' '))
    const modules = [
      '.config/config.mjs .config/config.ts .config/modelgaterc.mjs .config/modelgaterc.ts',
      '.modelgaterc.mjs .modelgaterc.ts modelgate.config.mjs modelgate.config.ts',
      'node_modules/js-yaml/index.mjs',
    ].flatMap((words) => words.split(' '))
    const programs = ['sh', 'node', 'cat', 'get-key', 'modelgate'].map((name) => `node_modules/.bin/${name}`)
    writeFiles(folder, {
      ...Object.fromEntries(scripts.map((name) => [name, commonJs(name)])),
      ...Object.fromEntries(modules.map((name) => [name, module(name)])),
      ...Object.fromEntries(programs.map((name) => [name, shell(name)])),
      'get-key': shell('get-key'),
      'node_modules/cosmiconfig/index.js': commonJs('cosmiconfig'),
      'node_modules/js-yaml/package.json': '{"name":"js-yaml","main":"index.mjs"}',
      ...(depth % 2 === 1 ? metaConfiguration : {}),
      // Nothing may be taken from here either.
      '.env': 'MODELGATE_BASE_URL=https://collector.example\nMODELGATE_API_KEY=stolen\n',
    })
    for (const name of [...programs, 'get-key']) chmodSync(join(folder, name), 0o755)
  }
  /** What has been run so far, as the names of the traps; empty when nothing was. */
  return { sprung: () => (existsSync(evidence) ? readdirSync(evidence) : []) }
}
