import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { registerImageCreate } from './image/create.ts'
import { registerImageEdit } from './image/edit.ts'
import { addExamples, type Example } from './shared/help-layout.ts'

const imageExamples: readonly Example[] = [
  ['modelgate image create --sandbox -o boat.png "A paper boat"'],
  ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "Hills at dusk"'],
  ['modelgate image edit --image room.png --mask wall.png "Paint the wall blue"'],
]

/** `modelgate image create` and `modelgate image edit`. */
export function registerImage(command: Command, context: Context): void {
  addExamples(command, context, imageExamples)
  registerImageCreate(command.command('create').description('Draw images from a prompt, into files'), context)
  registerImageEdit(command.command('edit').description('Change images by a prompt, into new files'), context)
}
