import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addExamples, type Example } from './shared/help-layout.ts'
import { registerVideoGenerate } from './video/generate.ts'
import { registerVideoList } from './video/list.ts'
import { registerVideoRemix } from './video/remix.ts'
import { registerVideoStatus } from './video/status.ts'
import { registerVideoWait } from './video/wait.ts'

const videoExamples: readonly Example[] = [
  ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
  ['modelgate video remix -m MODEL --last "Make it night"'],
  ['modelgate video wait --last'],
  ['modelgate video list --refresh'],
]

/** `modelgate video`: jobs that take minutes, from their start to their files. */
export function registerVideo(command: Command, context: Context): void {
  const add = (name: string, about: string) => command.command(name).description(about)
  addExamples(command, context, videoExamples)
  registerVideoGenerate(add('generate', 'Make videos from a prompt and pictures'), context)
  registerVideoRemix(add('remix', 'Make a video from a finished one, with one change'), context)
  registerVideoStatus(add('status', 'Look a job up: a video or an operation'), context)
  registerVideoWait(add('wait', 'Wait for a job and save its videos'), context)
  registerVideoList(add('list', 'The jobs that this machine has started'), context)
}
