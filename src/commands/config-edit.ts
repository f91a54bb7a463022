import { randomBytes } from 'node:crypto'
import { readFile, unlink } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import type { Command } from 'commander'
import { checkUserFile, newUserFile, refreshSchema } from '../config/edit-config.ts'
import { readIfThere, rewriteFile } from '../config/edit/rewrite-file.ts'
import { userFilePath } from '../config/find-config-file.ts'
import { configFolder } from '../config/paths.ts'
import type { Context } from '../context.ts'
import { ConfigError, FileError, Interrupted, ModelgateError, UsageError } from '../errors.ts'
import { readError, systemCode } from '../files/file-error.ts'
import { type CommonOptions, takeOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { homePath, tell } from './shared/call/print-document.ts'
import { askChoice, canAsk } from './shared/input/questions.ts'

const editExamples: readonly Example[] = [
  ['modelgate config edit'],
  ['EDITOR="code --wait" modelgate config edit', 'any editor that waits'],
]

/** `modelgate config edit`: the user's own file in an editor. */
export function registerConfigEdit(command: Command, context: Context): void {
  addExamples(command, editExamples)
  takeOptions(command, new Set())
  command.action(async (_: unknown, self: Command) => {
    const { input, quiet } = self.optsWithGlobals<CommonOptions>()
    if (!canAsk(context, !input)) throw noTerminal(context)
    const outcome = await editInEditor(context)
    if (quiet !== true) tell(context, outcome)
  })
}

function noTerminal(context: Context): UsageError {
  return new UsageError('An editor needs a terminal.', {
    code: 'no_terminal',
    hint: `Change a setting with modelgate config set, or the file itself: ${userFilePath(context)}`,
  })
}

/**
 * Edits a copy, which replaces the file only when it is right; what is wrong is told, for another try.
 * @returns what came of it, as a sentence
 */
async function editInEditor(context: Context): Promise<string> {
  if (configFolder(context) === undefined) {
    throw new ConfigError('There is no place for a configuration file, because no home directory is known.', {
      hint: 'Name a folder with MODELGATE_CONFIG_DIR.',
    })
  }
  const path = userFilePath(context)
  const before = readIfThere(path)
  const start = before ?? newUserFile(path)
  // In the same folder, so that the editor finds the schema; the extension tells it the language.
  const name = `.${basename(path, extname(path))}-${randomBytes(4).toString('hex')}${extname(path)}`
  const copy = join(dirname(path), name)
  await rewriteFile(context, copy, async () => start, 0o600)
  let keepCopy = false
  try {
    for (;;) {
      await runEditor(context, copy).catch((error: unknown) => {
        // The terminal may be gone, and what was typed must not be.
        keepCopy = context.signal.aborted && readIfThere(copy) !== start
        if (keepCopy) tell(context, `Your changes are in ${copy}; ${path} is as it was.`)
        throw error
      })
      const text = await readFile(copy, 'utf8').catch((error: unknown) => {
        throw readError(error, copy)
      })
      if (text === start) return `${homePath(context, path)} is not changed.`
      const problem = await problemOf(context, path, text)
      if (problem === undefined) {
        await replace(context, path, before, text)
        return `${homePath(context, path)} is saved.`
      }
      for (const line of problem.message.split('\n')) tell(context, line)
      const next = await askChoice(context, 'The file is not saved. What now?', [
        { value: 'edit', name: 'edit again' },
        { value: 'drop', name: 'leave the file as it was, and drop the changes' },
        { value: 'keep', name: 'leave the file as it was, and keep the changes beside it' },
      ] as const)
      if (next === 'edit') continue
      keepCopy = next === 'keep'
      throw problem.amend({
        hint: keepCopy ? `Your changes are in ${copy}; ${path} is as it was.` : `${path} is as it was.`,
      })
    }
  } finally {
    if (!keepCopy) await unlink(copy).catch(() => {})
  }
}

async function problemOf(context: Context, path: string, text: string): Promise<ModelgateError | undefined> {
  try {
    await checkUserFile(context, path, text)
    return undefined
  } catch (error) {
    if (error instanceof ModelgateError && error.exit === 'usage') return error
    throw error
  }
}

/** @throws FileError when another program has changed the file meanwhile */
async function replace(
  context: Context,
  path: string,
  before: string | undefined,
  text: string,
): Promise<void> {
  await rewriteFile(context, path, async (now) => {
    if (now !== before) {
      throw new FileError('file_changed', `${path} has been changed by another program meanwhile.`, {
        hint: 'Run modelgate config edit again.',
      })
    }
    return text
  })
  await refreshSchema(context, path)
}

/**
 * Runs `$VISUAL` or `$EDITOR`, which may have arguments, on a file, and waits for it. Ctrl-C is the editor's: to vi it
 * is a key.
 * @throws ConfigError `no_editor`, `editor_failed`; the reason of the signal, which ends the editor, too
 */
async function runEditor(context: Context, path: string): Promise<void> {
  const { env, platform, signal } = context
  const editor = env['VISUAL'] || env['EDITOR'] || (platform === 'win32' ? 'notepad' : 'vi')
  const { spawn } = await import('node:child_process')
  // The shell takes the words of the variable apart, as it does for git; the path is an argument of its own.
  const [command, args] =
    platform === 'win32'
      ? [`${editor} "${path}"`, []]
      : ['/bin/sh', ['-c', `trap : INT; ${editor} "$@"`, editor, path]]
  const child = spawn(command, args, { stdio: 'inherit', shell: platform === 'win32', env: { ...env } })
  const obeyInterrupts = context.ignoreInterrupts()
  const stop = () => void child.kill()
  signal.addEventListener('abort', stop, { once: true })
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (problem: string, cause?: unknown) =>
      reject(
        new ConfigError(`The editor ${problem}.`, {
          code: systemCode(cause) === 'ENOENT' ? 'no_editor' : 'editor_failed',
          hint: 'Name another with VISUAL or EDITOR.',
          cause,
        }),
      )
    child.on('error', (error) => fail('could not be started', error))
    child.on('close', (code, killed) => {
      if (code === 0) resolve()
      else if (code === 127) fail('was not found')
      else if (code === 130) reject(new Interrupted('interrupt'))
      else fail(killed === null ? `ended with exit code ${code}` : `was killed by ${killed}`)
    })
  })
  try {
    await ended
  } finally {
    obeyInterrupts()
    signal.removeEventListener('abort', stop)
    signal.throwIfAborted()
  }
}
