import { completionScripts } from '../../src/commands/completion.ts'
import { helpDocument } from '../../src/commands/help/help-tree.ts'
import { readTree } from '../../src/commands/completion/tree.ts'
import { generatedBlocks, replaceBlocks } from './generated-blocks.ts'
import { manPage } from './man-page.ts'
import { readPage, userPages } from './pages.ts'
import { loadedProgram } from './program-tree.ts'
import { skillBlocks } from './skill-blocks.ts'

export { projectRoot } from './pages.ts'

/** Named as each shell looks for them. */
const completionNames = {
  bash: 'modelgate.bash',
  zsh: '_modelgate',
  fish: 'modelgate.fish',
  powershell: 'modelgate.ps1',
} as const satisfies Record<keyof typeof completionScripts, string>

/** Every file that is generated, whole or in part, with what it should contain; by path below the root. */
export async function generatedFiles(): Promise<Map<string, string>> {
  const program = await loadedProgram()
  const tree = readTree(program)
  const files = new Map<string, string>()
  for (const [shell, name] of Object.entries(completionNames)) {
    files.set(`completions/${name}`, completionScripts[shell as keyof typeof completionNames](tree))
  }
  const blocks = generatedBlocks(program)
  for (const path of userPages) files.set(path, replaceBlocks(readPage(path), blocks))
  const help = helpDocument(program)
  files.set('man/modelgate.1', manPage(help))
  const skill = 'skills/modelgate/SKILL.md'
  files.set(skill, replaceBlocks(readPage(skill), skillBlocks(help)))
  return files
}
