import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { readCompletionScript } from '../files/program-files.ts'
import { addShared, addExamples } from './shared/options/common-options.ts'

/** The script of each shell in completions/, named as the shell looks for it. */
const scripts = {
  bash: 'modelgate.bash',
  zsh: '_modelgate',
  fish: 'modelgate.fish',
  powershell: 'modelgate.ps1',
} as const

const powershell = `
PowerShell:
  > modelgate completion powershell |
      Out-String | Invoke-Expression`

export function registerCompletion(command: Command, context: Context): void {
  const shell = command.createArgument('<shell>', 'the shell to complete in')
  addExamples(command, [
    ['modelgate completion bash > ~/.local/share/bash-completion/completions/modelgate'],
    ['modelgate completion zsh > ~/.zfunc/_modelgate', 'a folder of $fpath, before compinit'],
    ['modelgate completion fish > ~/.config/fish/completions/modelgate.fish'],
  ])
  addShared(command, 'messages')
  command
    .addArgument(shell.choices(Object.keys(scripts)))
    .addHelpText('after', powershell)
    .action(async (name: keyof typeof scripts) =>
      context.stdout.write(await readCompletionScript(scripts[name])),
    )
}
