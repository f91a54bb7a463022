import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { Style } from '../operations/conversation/conversation.ts'
import type { ChatOptions } from './chat/run-chat.ts'
import { addShared, wordOption, addExamples } from './shared/options/common-options.ts'
import { conversationOptions, renderOption } from './shared/text/text-command.ts'

export function registerChat(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate chat --sandbox', 'try it, nothing configured'],
    ['modelgate chat -m MODEL "Explain monads"'],
    ['modelgate chat -c', 'continue the last exchange of this terminal'],
    ['modelgate chat --conversation-file talk.yaml', 'keep it in a file'],
  ])
  addShared(command, 'model body set validate usage strict money gateway quiet debug noInput')
  command
    .argument('[prompt...]', 'the first message')
    .addOption(wordOption('--style <style>', 'respond (default) or generate', ['respond', 'generate']))
  for (const option of conversationOptions()) command.addOption(option)
  command
    .option('-s, --system <text>', 'instructions as text, or @file')
    .addOption(renderOption())
    .action(async (words: string[], options: ChatOptions & { style?: Style }) => {
      requireTerminal(context, options)
      const { runChat } = await import('./chat/run-chat.ts')
      await runChat(context, options, options.style, words.join(' '))
    })
}

function requireTerminal({ stdin, stderr }: Context, { noInput }: ChatOptions): void {
  if (!noInput && stdin.kind === 'terminal' && stdin.stream !== undefined && stderr.isTerminal) return
  const missing = noInput
    ? '--no-input forbids it'
    : stdin.kind === 'terminal'
      ? 'standard error is not one'
      : 'standard input is not one'
  throw new UsageError(`A chat needs a terminal to type in: ${missing}.`, {
    code: 'not_confirmed',
    hint: 'In a script or a pipe, continue call by call: modelgate respond -c "…", or use --conversation-file.',
  })
}
