// Saves images or videos as a command does, with every file system call numbered, and is killed at one of them.
// node save-media-child.ts images|videos FOLDER KILL-AT HOW, where HOW is before, after or half (a write is done by half).
// Prints the number of calls when it survives.
import process from 'node:process'
import { withFsHook } from '../support/fs-faults.ts'
import { mediaToSave } from './saved-media.ts'

const [kind = '', folder = '', killAt = '-1', how = 'before'] = process.argv.slice(2)
let calls = 0

await withFsHook(
  async (_, call) => {
    const isChosen = calls++ === Number(killAt)
    if (isChosen && how === 'before') process.kill(process.pid, 'SIGKILL')
    const result = call()
    // The call has been handed to another thread: it is under way when the process ends.
    if (isChosen && how === 'half') process.kill(process.pid, 'SIGKILL')
    if (isChosen) await result.catch(() => {})
    if (isChosen) process.kill(process.pid, 'SIGKILL')
    return await result
  },
  () => mediaToSave[kind as keyof typeof mediaToSave].save(folder),
)
process.stdout.write(String(calls))
