import { helpDocument } from '../../src/commands/help/help-tree.ts'
import { generatedBlocks, replaceBlocks, skillBlocks } from './generated-blocks.ts'
import { readPage, userPages } from './pages.ts'
import { loadedProgram } from './program-tree.ts'

export { projectRoot } from './pages.ts'

/** Every file that is generated, whole or in part, with what it should contain; by path below the root. */
export async function generatedFiles(): Promise<Map<string, string>> {
  const program = await loadedProgram()
  const files = new Map<string, string>()
  const blocks = generatedBlocks(program)
  for (const path of userPages) files.set(path, replaceBlocks(readPage(path), blocks))
  const help = helpDocument(program)
  const skill = 'skills/modelgate/SKILL.md'
  files.set(skill, replaceBlocks(readPage(skill), skillBlocks(help)))
  return files
}
