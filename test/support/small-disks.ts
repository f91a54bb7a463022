import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

/** Real file systems, each mounted for one test. */

const succeeds = (command: string, ...words: readonly string[]) =>
  spawnSync(command, words, { stdio: 'ignore' }).status === 0

function run(command: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${[command, ...words].join(' ')} ended with ${status}: ${stderr}`)
  return stdout.trim()
}

/** Whether this process may mount file systems, as root may outside of most containers. */
export const canMount = tryToMount()

function tryToMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-mount-'))
  try {
    return succeeds('mount', '-t', 'tmpfs', 'tmpfs', folder) && succeeds('umount', folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Whether there are an exFAT file system in user space, which has no hard links, and loop devices for it. */
export const hasExfat =
  canMount &&
  succeeds('sh', '-c', 'command -v mount.exfat-fuse && command -v mkfs.exfat') &&
  succeeds('losetup', '--find')

/** Mounts a file system in memory. @returns the folder */
export function mountTmpfs(folder: string, kibibytes: number): string {
  mkdirSync(folder, { recursive: true })
  run('mount', '-t', 'tmpfs', '-o', `size=${kibibytes}k,mode=700`, 'tmpfs', folder)
  onTestFinished(() => void run('umount', '--lazy', folder))
  return folder
}

/** A new folder on an exFAT file system. */
export function exfatFolder(): string {
  const root = temporaryFolder()
  const [image, folder] = [join(root, 'image'), join(root, 'disk')]
  writeFileSync(image, '')
  truncateSync(image, 16 * 1024 * 1024)
  mkdirSync(folder)
  run('mkfs.exfat', image)
  const device = run('losetup', '--find', '--show', image)
  onTestFinished(() => void run('losetup', '--detach', device))
  run('mount.exfat-fuse', device, folder)
  onTestFinished(() => void run('umount', folder))
  return folder
}

/** Makes a folder read-only, with all that is in it, until the test ends. */
export function mountReadOnly(folder: string): void {
  run('mount', '--bind', folder, folder)
  onTestFinished(() => void run('umount', '--lazy', folder))
  run('mount', '-o', 'remount,bind,ro', folder)
}

/** Fills a small disk but for so many bytes. @returns frees it */
export function fillDisk(folder: string, left = 0): () => void {
  const path = join(folder, '.filler')
  // As much as there is room for, whatever it says.
  spawnSync('sh', ['-c', 'cat /dev/zero > "$1"', 'sh', path], { stdio: 'ignore' })
  if (left > 0) {
    const size = Number(run('stat', '--format=%s', path))
    truncateSync(path, Math.max(0, size - left))
  }
  return () => rmSync(path)
}
