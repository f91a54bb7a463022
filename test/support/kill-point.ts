import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { basename } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded into the built program before anything of it (run-to-point.ts). Counts the moments
 * at which the process is about to change a file or to send something, and kills it at the one that KILL_POINT says, as
 * if the machine had killed it there; or KILL_TURNS turns of its event loop later, in the middle of what it began. What
 * the moments are goes to the file KILL_POINT_LOG.
 */

const { KILL_POINT: point = '0', KILL_TURNS: turns = '0', KILL_POINT_LOG: log = '' } = process.env
const { appendFileSync, promises } = fs
const paths = new WeakMap<object, string>()
const descriptors = new Map<number, string>()
let count = 0
let isLogging = false

function pass(what: string, subject: unknown): void {
  if (isLogging) return
  count++
  const isLast = count === Number(point)
  isLogging = true
  appendFileSync(log, `${count} ${what} ${nameOf(subject)}\n`)
  isLogging = false
  if (isLast) die(Number(turns))
}

function die(turnsLeft: number): void {
  if (turnsLeft === 0) process.kill(process.pid, 'SIGKILL')
  else setImmediate(die, turnsLeft - 1)
}

function nameOf(subject: unknown): string {
  if (typeof subject === 'string') return basename(subject)
  if (typeof subject === 'number') return descriptors.get(subject) ?? ''
  return typeof subject === 'object' && subject !== null ? (paths.get(subject) ?? '') : ''
}

type Method = (this: unknown, ...values: unknown[]) => unknown

type Subject = (self: unknown, first: unknown) => unknown

function watch(owner: object, names: readonly string[], subjectOf: Subject): void {
  const methods = owner as Record<string, Method>
  for (const name of names) {
    const original = methods[name]!
    methods[name] = function (...values) {
      pass(name, subjectOf(this, values[0]))
      return original.apply(this, values)
    }
  }
}

const first = (_: unknown, value: unknown) => value
const self = (owner: unknown) => owner

if (isMainThread) {
  const handle = await promises.open(new URL(import.meta.url))
  const files = Object.getPrototypeOf(handle) as object
  await handle.close()
  watch(files, ['write', 'writev', 'writeFile', 'appendFile', 'truncate', 'datasync', 'sync', 'chmod'], self)
  const changes = 'mkdir rename link unlink rm rmdir copyFile writeFile utimes chmod'.split(' ')
  watch(promises, changes, first)
  watch(fs, [...changes, 'ftruncate', 'fsync', 'fdatasync', 'write', 'writev'], first)
  const syncChanges = [...changes, 'write'].map((name) => `${name}Sync`)
  watch(fs, syncChanges, first)
  watch(Socket.prototype, ['write'], () => 'socket')
  // Opening a file makes it, or empties it, when it is for writing.
  const { open } = promises
  promises.open = async (path, flags, ...rest) => {
    const isWriting = flags !== undefined && flags !== 'r'
    if (isWriting) pass('open', String(path))
    const opened = await open(path, flags, ...rest)
    paths.set(opened, basename(String(path)))
    // Every handle has a method of its own for this.
    if (isWriting) watch(opened, ['close'], self)
    return opened
  }
  const { openSync, closeSync } = fs
  fs.openSync = (path, flags, ...rest) => {
    const isReading = typeof flags === 'number' ? (flags & 3) === fs.constants.O_RDONLY : flags === 'r'
    if (isReading) return openSync(path, flags, ...rest)
    pass('openSync', String(path))
    const opened = openSync(path, flags, ...rest)
    descriptors.set(opened, basename(String(path)))
    return opened
  }
  fs.closeSync = (descriptor) => {
    if (descriptors.has(descriptor)) pass('closeSync', descriptor)
    descriptors.delete(descriptor)
    closeSync(descriptor)
  }
  syncBuiltinESMExports()
}
