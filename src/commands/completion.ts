import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { bashCompletion } from './completion/bash.ts'
import { fishCompletion } from './completion/fish.ts'
import { powershellCompletion } from './completion/powershell.ts'
import { readTree, type CommandNode } from './completion/tree.ts'
import { zshCompletion } from './completion/zsh.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addShared } from './shared/options/common-options.ts'
import type { LoadCommand } from './shared/options/command-tools.ts'

/** A script for each shell: static, so that no TAB starts a process. */
export const completionScripts = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
} as const satisfies Record<string, (root: CommandNode) => string>

export type Shell = keyof typeof completionScripts

const powershell = `
PowerShell:
  > modelgate completion powershell |
      Out-String | Invoke-Expression`

const examples: readonly Example[] = [
  ['modelgate completion bash > ~/.local/share/bash-completion/completions/modelgate'],
  ['modelgate completion zsh > ~/.zfunc/_modelgate', 'a folder of $fpath, before compinit'],
  ['modelgate completion fish > ~/.config/fish/completions/modelgate.fish'],
]

/**
 * `modelgate completion <shell>`: prints the completion script of a shell.
 * @param load loads what another command of the tree consists of
 */
export function registerCompletion(command: Command, context: Context, load: LoadCommand): void {
  const shell = command.createArgument('<shell>', 'the shell to complete in')
  addExamples(command, examples)
  addShared(command, 'messages')
  command
    .addArgument(shell.choices(Object.keys(completionScripts)))
    .addHelpText('after', powershell)
    .action(async (name: Shell) => {
      const program = command.parent!
      for (const other of program.commands) if (other !== command) await load(other)
      context.stdout.write(completionScripts[name](readTree(program)))
    })
}
