import { basename, join } from 'node:path'
import { UsageError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'
import type { JsonObject } from '../../json.ts'
import { refuseChanged } from '../execute/task-inputs.ts'
import type { UpstreamResult } from '../execute/task.ts'
import { referencesOf, type FieldValue, type Instance } from '../manifest/manifest.ts'
import type { Project } from '../project.ts'
import { digestOfFile } from '../store/file-digest.ts'
import {
  fileNameProblem,
  messageVersion,
  type MessageFile,
  type WireField,
  type WireMessage,
} from './task-message.ts'

/** A task as the run has it. */
export interface TaskParts {
  readonly instance: Instance
  /** What each reference of the instance stands for, by its text. */
  readonly upstream: ReadonlyMap<string, UpstreamResult>
  /** SHA-256 of an input file as it was when the keys were computed, by its path relative to the manifest's folder. */
  readonly inputDigest: (path: string) => Promise<string>
  readonly project: Pick<Project, 'folder'>
}

export interface EncodedTask {
  /** JSON, for `decodeTask`. */
  readonly message: JsonObject
  /** What has to be in the shared store before anybody takes the task up. */
  readonly files: readonly LocalFile[]
}

export interface LocalFile {
  /** Absolute. */
  readonly path: string
  /** Of its bytes as they are; of a text not as in its key. */
  readonly sha256: string
}

/**
 * Puts a request into a message. It names no path of this machine but base names, which are a part of some requests.
 * @throws UsageError `input_changed` when a file is not what its key was computed of, `input_name` for a name that not
 * every system takes; FileError
 */
export async function encodeTask({
  instance,
  upstream,
  inputDigest,
  project,
}: TaskParts): Promise<EncodedTask> {
  const files = collectFiles()
  const fields: WireMessage['fields'] = []
  for (const [name, value] of Object.entries(instance.fields)) {
    fields.push({ name, value: await wireField(value, (path) => files.add(join(project.folder, path))) })
  }
  // Behind the digests that travel: what is sent is what the key is of.
  await refuseChanged(instance, project.folder, inputDigest)
  const results: WireMessage['upstream'] = []
  for (const [text, { files: made, jobId }] of resultsOf(instance, upstream)) {
    const found: WireMessage['upstream'][number]['files'] = []
    for (const { path, media_type } of made) found.push({ file: await files.add(path), media_type })
    results.push({ reference: text, files: found, job_id: jobId })
  }
  const { id, command, model, output, onUnknown } = instance
  const message: WireMessage = {
    version: messageVersion,
    id,
    command,
    model,
    output,
    on_unknown: onUnknown,
    fields,
    files: files.named,
    upstream: results,
  }
  return { message, files: files.local }
}

/** @param addFile of a path in the manifest; returns its number */
async function wireField(value: FieldValue, addFile: (path: string) => Promise<number>): Promise<WireField> {
  if (value.kind === 'value') return { json: JSON.stringify(value.value) }
  if (value.kind === 'text') return { text: value.text }
  if (value.kind === 'text of') return { text_of: value.reference.text }
  const files: Extract<WireField, { files: unknown }>['files'] = []
  for (const { source, role } of value.files) {
    if ('reference' in source) files.push({ of: source.reference.text, role })
    else files.push({ file: await addFile(source.path), role })
  }
  return { files }
}

/** The files that go in, each once by its bytes and its name. */
function collectFiles() {
  const named: MessageFile[] = []
  const local = new Map<string, LocalFile>()
  return {
    named,
    get local() {
      return [...local.values()]
    },
    async add(path: string): Promise<number> {
      const digest = await digestOfFile(path, false)
      if (digest === undefined) throw readError(Object.assign(new Error('gone'), { code: 'ENOENT' }), path)
      const { sha256 } = digest
      const name = basename(path)
      const problem = fileNameProblem(name)
      if (problem !== undefined) {
        throw new UsageError(`${shownPath(path)} cannot go through a queue: its name ${problem}.`, {
          code: 'input_name',
          hint: 'Give the file another name.',
        })
      }
      if (!local.has(sha256)) local.set(sha256, { path, sha256 })
      const known = named.findIndex((file) => file.sha256 === sha256 && file.name === name)
      return known === -1 ? named.push({ sha256, name }) - 1 : known
    },
  }
}

function resultsOf(
  { fields }: Instance,
  upstream: ReadonlyMap<string, UpstreamResult>,
): ReadonlyMap<string, UpstreamResult> {
  const found = new Map<string, UpstreamResult>()
  for (const reference of Object.values(fields).flatMap(referencesOf)) {
    found.set(reference.text, upstream.get(reference.text) ?? { files: [], jobId: null })
  }
  return found
}
