import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { registerImageCreate } from './image/create.ts'
import { registerImageEdit } from './image/edit.ts'

/** `modelgate image create` and `modelgate image edit`. */
export function registerImage(command: Command, context: Context): void {
  registerImageCreate(command.command('create').description('Draw images from a prompt, into files'), context)
  registerImageEdit(command.command('edit').description('Change images by a prompt, into new files'), context)
}
