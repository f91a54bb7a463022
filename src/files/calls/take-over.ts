import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { systemCode, writeError } from '../file-error.ts'
import { parseJson } from '../parse-json.ts'
import { monthFiles, sealedLine } from '../sealed-lines.ts'
import { countedFirst, type CallEnd } from './call-record.ts'

/**
 * Makes the log and the counts of version 0.1.0 (`log/2026-11.jsonl`, `ledger/2026-11.jsonl`) records of this one. Files take
 * the place of the old folders, so that a program of that version says that it cannot write there.
 * @param folder where the records belong
 * @throws FileError
 */
export async function takeOver(stateFolder: string, folder: string): Promise<void> {
  const fresh = `${folder}.${randomBytes(8).toString('hex')}`
  try {
    mkdirSync(join(fresh, 'words'), { recursive: true, mode: 0o700 })
    const log = join(stateFolder, 'log')
    const ledger = join(stateFolder, 'ledger')
    for (const name of new Set([...oldMonths(ledger), ...oldMonths(log)])) {
      const counts = oldLines(join(ledger, name)).map(countsOf())
      const calls = oldLines(join(log, name)).flatMap((line) => callOf(line, fresh))
      writeFileSync(join(fresh, name), [...counts, ...calls].join(''), { mode: 0o600 })
    }
    place(fresh, folder)
    for (const old of [log, ledger]) {
      rmSync(old, { recursive: true, force: true })
      writeFileSync(old, 'A newer version of modelgate keeps its records in "calls".\n', { mode: 0o600 })
    }
    // Last, so that whoever comes after a killed process closes the old folders.
    writeFileSync(join(folder, 'version'), '1\n', { mode: 0o600 })
  } catch (error) {
    throw writeError(error, folder)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Another process may have been faster, or have been killed after this. */
function place(fresh: string, folder: string): void {
  try {
    renameSync(fresh, folder)
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST') throw error
  }
}

function oldMonths(folder: string): string[] {
  try {
    return monthFiles(folder)
  } catch {
    // A file, where it has been taken over already.
    return []
  }
}

function oldLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
  } catch (error) {
    // Not there, or a file in place of its folder.
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return []
    throw error
  }
}

/** The lines of a ledger: a creation, its cost or that it was given back, by its id. What was damaged was a creation, too. */
function countsOf(): (line: string) => string {
  const known = new Map<string, JsonObject>()
  let at = new Date(0).toISOString()
  return (line) => {
    // What was torn has the next line on the same one.
    const { value } = parseJson(line.slice(Math.max(0, line.lastIndexOf('{"time":"'))))
    const fields = objectOf(value)
    const id = stringOf(fields['id']) ?? '0'.repeat(16)
    const { count, amount, currency } = known.get(id) ?? {}
    at = stringOf(fields['time']) ?? at
    const write = (counted: JsonObject) => sealedLine(JSON.stringify({ id, at, type: 'count', ...counted }))
    if (value === undefined) return write({ count: 1, amount: null })
    if (fields['given_back'] === true)
      return write({ count: -Number(count ?? 0), was: amount ?? null, currency })
    if (typeof fields['count'] === 'number') {
      known.set(id, fields)
      return write({
        count: fields['count'],
        amount: fields['amount'] ?? null,
        currency: fields['currency'] ?? null,
      })
    }
    if (typeof fields['amount'] !== 'string') return ''
    known.set(id, { ...known.get(id), amount: fields['amount'], currency: fields['currency'] })
    return write({ count: 0, amount: fields['amount'], was: amount ?? null, currency: fields['currency'] })
  }
}

const wordNames = new Set(['arguments', 'read_stdin', 'prompt', 'request', 'reply'])

/** An entry of the log; its words go into a file of their own. */
function callOf(line: string, folder: string): string[] {
  const { value } = parseJson(line)
  if (!isObject(value) || !/^log_[0-9a-f]{16}$/.test(String(value['id']))) return []
  const { id: name, version: _, end: __, repeat: ___, ...fields } = value
  const id = String(name).slice('log_'.length)
  const words = Object.fromEntries(Object.entries(fields).filter(([key]) => wordNames.has(key)))
  const facts = Object.fromEntries(Object.entries(fields).filter(([key]) => !wordNames.has(key)))
  const time = Date.parse(stringOf(facts['time']) ?? '')
  if (!Number.isFinite(time) || typeof facts['command'] !== 'string') return []
  if (words['arguments'] !== undefined)
    writeFileSync(join(folder, 'words', `${id}.json`), JSON.stringify(words), { mode: 0o600 })
  const at = new Date(time + Number(facts['duration_ms'] ?? 0)).toISOString()
  const files = objectsOf(facts['files'])
  const end = {
    exit_code: 0,
    cwd: '',
    duration_ms: 0,
    ...facts,
    response: objectOf(words['reply'])['id'],
    files,
  }
  return [sealedLine(JSON.stringify({ id, at, type: 'end', ...countedFirst(end as unknown as CallEnd) }))]
}
