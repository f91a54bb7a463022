import { spawnSync } from 'node:child_process'
import { spawn } from '@lydell/node-pty'
import { onTestFinished } from 'vitest'

export type InteractiveShell = 'bash' | 'zsh'

/** How each shell is told to load a script, and to print its line as `<<line>>` at Ctrl-G. */
const setups: Readonly<Record<InteractiveShell, (script: string) => readonly string[]>> = {
  bash: (script) => [
    `source '${script}'`,
    `bind -x '"\\C-g": printf "\\n<%s%s>>\\n" "<" "$READLINE_LINE"'`,
    `printf '%s%s\\n' rea dy.`,
  ],
  zsh: (script) => [
    `autoload -Uz compinit; compinit -D -u; source '${script}'`,
    `show() { print; print -r -- "<""<$BUFFER>>" }; zle -N show; bindkey '^G' show`,
    `print -r -- rea""dy.`,
  ],
}

const starts: Readonly<Record<InteractiveShell, readonly string[]>> = {
  bash: ['--norc', '--noprofile', '-i'],
  zsh: ['-f', '-i'],
}

/** Whether a program can be started on this machine. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).status === 0
}

/**
 * Types a line and TAB into a real shell on a pseudo-terminal.
 * @param script path of the completion script, loaded first
 * @param cwd the folder that it runs in; programs are looked for in its `bin` first
 * @returns what the line has become
 */
export async function typeAndTab(
  shell: InteractiveShell,
  script: string,
  line: string,
  cwd: string,
): Promise<string> {
  const terminal = spawn(shell, [...starts[shell]], {
    cwd,
    cols: 200,
    rows: 40,
    // A program of the test's own may stand in for this one.
    env: { PATH: `${cwd}/bin:${process.env['PATH']}`, HOME: cwd, TERM: 'dumb', PS1: '$ ' },
  })
  onTestFinished(() => terminal.kill('SIGKILL'))
  let seen = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let isTyped = false
  terminal.onExit(() => reject(new Error(`${shell} ended early:\n${seen}`)))
  terminal.onData((text) => {
    seen += text
    if (!isTyped && seen.includes('ready.')) {
      isTyped = true
      terminal.write(`${line}\t\x07`)
    }
    const shown = /<<(.*?)>>/s.exec(seen)?.[1]
    if (shown !== undefined) resolve(shown)
  })
  const commands = setups[shell](script).map((command) => `${command}\r`)
  terminal.write(commands.join(''))
  return promise
}
