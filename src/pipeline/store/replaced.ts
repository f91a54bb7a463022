import { hash } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { FileContext } from '../../context.ts'
import { parseJson } from '../../files/parse-json.ts'
import { countOf, objectOf, stringOf } from '../../json.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { makeStateFolder } from '../state-folder.ts'
import { BlobStore } from './blob-store.ts'
import { isTextType, withLineFeeds, type FileDigest } from './file-digest.ts'
import { gitObject, maxObjectBytes } from './git-objects.ts'

export interface ReplacedFile {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly sha256: string
  /** Where it lay: relative to the output folder, with `/`; of a file of a result the instance that it was made for. */
  readonly name: string
}

/** Files that were put aside, or adopted, by their digests, and a list of whose they were. */
export class Replaced extends BlobStore {
  readonly #listPath: string
  readonly #outputFolder: string
  readonly #now: () => number

  /** Nothing is made before something is added. */
  constructor(context: FileContext, project: Project) {
    const root = join(project.stateFolder, 'replaced')
    super(context, root, { makeRoot: () => makeStateFolder(project, 'replaced') })
    this.#listPath = join(root, 'list.jsonl')
    this.#outputFolder = project.outputFolder
    this.#now = () => context.clock.now()
  }

  /**
   * Stores a file that is about to be replaced.
   * @param path absolute
   * @param isText whether it is stored with LF; by default byte for byte
   * @param instance the id of the instance that it was made for, if it was no output
   * @throws FileError
   */
  async putAside(path: string, isText = false, instance?: string): Promise<FileDigest> {
    const digest = await this.add(path, isText)
    const name = instance ?? relative(this.#outputFolder, path).replaceAll(sep, '/')
    const entry: ReplacedFile = { at: this.#now(), sha256: digest.sha256, name }
    // Without it the bytes are there all the same.
    await appendFile(this.#listPath, `${JSON.stringify(entry)}\n`, { mode: 0o600 }).catch(() => {})
    return digest
  }

  /** What was put aside under some names, in the order of time; what a damaged line says is left out. */
  async listOf(names: ReadonlySet<string>): Promise<readonly ReplacedFile[]> {
    const text = await readFile(this.#listPath, 'utf8').catch(() => '')
    return text.split('\n').flatMap((line) => {
      const value = objectOf(parseJson(line).value)
      const [at, sha256, name] = [countOf(value['at']), stringOf(value['sha256']), stringOf(value['name'])]
      if (at === null || sha256 === undefined || name === undefined || !names.has(name)) return []
      return [{ at, sha256, name }]
    })
  }

  /**
   * Finds the bytes of an output among the objects of Git, and keeps them.
   * @param revisions where it may have been committed, in the order of the search: `HEAD`, or `:2` for a side of a conflict
   * @returns their absolute path; undefined where they are nowhere: Git LFS commits a pointer in their place
   * @throws FileError
   */
  async takeFromGit(facts: OutputFacts, revisions: readonly string[]): Promise<string | undefined> {
    const { path, sha256, bytes: size, media_type } = facts
    const isText = isTextType(media_type)
    // Each line of a text may have been committed with a CR.
    const maxBytes = Math.min(maxObjectBytes, isText ? 2 * size : size)
    for (const revision of revisions) {
      const object = await gitObject(this.#outputFolder, `${revision}:./${path}`, maxBytes)
      const bytes = object && (isText ? withLineFeeds(object) : object)
      if (bytes === undefined || hash('sha256', bytes) !== sha256) continue
      await this.add(bytes, false)
      return await this.open(sha256)
    }
    return undefined
  }
}
