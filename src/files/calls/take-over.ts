import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '../../json.ts'
import { systemCode, writeError } from '../file-error.ts'
import { parseJson } from '../parse-json.ts'
import { monthFile, monthFiles, sealedLine } from '../sealed-lines.ts'
import { recordedChange, requestFacts, withChange, type JobRecord } from './job-record.ts'
import { replyFile } from './reply-log.ts'

/**
 * Makes the records of version 0.1.0 (`log/2026-11.jsonl`, `ledger/2026-11.jsonl`, `jobs/TIME-KEY/1-….json`) records
 * of this one. Files take the place of the old folders, so that a program of that version says that it cannot write
 * there. @throws FileError
 */
export async function takeOver(stateFolder: string, folder: string): Promise<void> {
  const fresh = `${folder}.${randomBytes(8).toString('hex')}`
  try {
    fs.mkdirSync(join(fresh, 'words'), { recursive: true, mode: 0o700 })
    const log = join(stateFolder, 'log')
    const ledger = join(stateFolder, 'ledger')
    const jobs = jobFolders.map((name) => join(stateFolder, name))
    for (const name of new Set([...oldMonths(ledger), ...oldMonths(log)])) {
      const counts = oldLines(join(ledger, name)).map(countsOf())
      const calls = oldLines(join(log, name)).flatMap((line) => callOf(line, fresh))
      fs.writeFileSync(join(fresh, name), [...counts, ...calls].join(''), { mode: 0o600 })
    }
    const isOfMachine = fs.existsSync(log) || fs.existsSync(ledger)
    const lines = jobs
      .flatMap((old) => namesIn(old).map((name) => join(old, name)))
      // Their names begin with the time.
      .toSorted((one, other) => (basename(one) < basename(other) ? -1 : 1))
      .flatMap((path) => jobOf(path, fresh))
    // The newest file, since no other is searched for jobs.
    const newest = monthFiles(fresh).at(-1) ?? monthFile(Math.max(0, ...lines.map(({ at }) => at)))
    if (lines.length > 0)
      fs.appendFileSync(join(fresh, newest), lines.map(({ line }) => line).join(''), { mode: 0o600 })
    try {
      fs.renameSync(fresh, folder)
    } catch (error) {
      // Another process may have been faster, or have been killed after this.
      if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST') throw error
    }
    // What killed processes have left has the words of the calls, too.
    for (const name of namesIn(stateFolder)) {
      if (/^calls\.[0-9a-f]{16}$/.test(name))
        fs.rmSync(join(stateFolder, name), { recursive: true, force: true })
    }
    for (const old of [log, ledger, ...jobs]) {
      if (!fs.existsSync(old) && (jobs.includes(old) || !isOfMachine)) continue
      fs.rmSync(old, { recursive: true, force: true })
      fs.writeFileSync(old, 'A newer version of modelgate keeps its records in "calls".\n', { mode: 0o600 })
    }
    // Last, so that whoever comes after a killed process closes the old folders.
    fs.writeFileSync(join(folder, 'version'), '1\n', { mode: 0o600 })
  } catch (error) {
    // Another process was faster.
    if (!fs.existsSync(join(folder, 'version'))) throw writeError(error, folder)
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true })
  }
}

function oldMonths(folder: string): string[] {
  return namesIn(folder).filter((name) => /^\d{4}-\d\d\.jsonl$/.test(name))
}

function oldLines(path: string): string[] {
  const lines = textIn(path).split('\n')
  return lines.filter((line) => line.trim() !== '')
}

function textIn(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    // Not there, or a file in place of its folder.
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return ''
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
      const { count, amount = null, currency = null } = fields
      return write({ count, amount, currency })
    }
    if (typeof fields['amount'] !== 'string') return ''
    known.set(id, { ...known.get(id), amount: fields['amount'], currency: fields['currency'] })
    return write({ count: 0, amount: fields['amount'], was: amount ?? null, currency: fields['currency'] })
  }
}

/** An entry of the log; its words go into a file of their own. */
function callOf(line: string, folder: string): string[] {
  const { value } = parseJson(line)
  if (!isObject(value) || !/^log_[0-9a-f]{16}$/.test(String(value['id']))) return []
  const { id: name, version: _, end: __, repeat: ___, ...fields } = value
  const { arguments: typed, read_stdin, prompt, request, reply, ...facts } = fields
  const id = String(name).slice('log_'.length)
  const time = Date.parse(stringOf(facts['time']) ?? '')
  if (!Number.isFinite(time) || typeof facts['command'] !== 'string') return []
  if (typed !== undefined) {
    const words = { arguments: typed, read_stdin, prompt, request, reply }
    fs.writeFileSync(join(folder, 'words', `${id}.json`), JSON.stringify(words), { mode: 0o600 })
  }
  const end = {
    id,
    at: new Date(time + Number(facts['duration_ms'] ?? 0)).toISOString(),
    type: 'end',
    exit_code: 0,
    cwd: '',
    duration_ms: 0,
    ...facts,
    response: objectOf(reply)['id'],
    files: objectsOf(facts['files']),
  }
  return [sealedLine(JSON.stringify(end))]
}

const jobFolders = ['jobs', 'responses', 'images']

/** A job, whose folder has a file for each writer that met others, and what arrived of the reply that has its id. */
function jobOf(path: string, folder: string): { readonly at: number; readonly line: string }[] {
  const key = randomBytes(8).toString('hex')
  const names = namesIn(path)
  const versions = names
    .filter((name) => name.endsWith('.json'))
    .toSorted((one, other) => Number.parseInt(one) - Number.parseInt(other))
    .map((name) => objectOf(parseJson(textIn(join(path, name))).value))
    .filter((record) => typeof record['idempotency_key'] === 'string' && Array.isArray(record['files']))
    .map((record) => record as unknown as JobRecord & { prompt?: unknown })
  if (versions.length === 0) return []
  const { prompt, ...record } = versions.reduce((before, change) => withChange(before, change))
  const at = record.created_at * 1000
  if (!Number.isFinite(at)) return []
  if (typeof prompt === 'string') {
    fs.writeFileSync(join(folder, 'words', `${key}.json`), JSON.stringify({ prompt }), { mode: 0o600 })
  }
  const reply = names.find((name) => name.startsWith('reply-'))
  if (reply !== undefined) {
    fs.mkdirSync(join(folder, 'replies'), { recursive: true, mode: 0o700 })
    fs.copyFileSync(join(path, reply), replyFile(folder, key))
  }
  const job = { ...record, ...recordedChange(record), request: requestFacts(record) }
  const line = { id: key, at: new Date(at).toISOString(), type: 'job', job }
  return [{ at, line: sealedLine(JSON.stringify(line)) }]
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}
