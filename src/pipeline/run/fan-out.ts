import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { AssertedOutput } from '../execute/check-asserts.ts'
import { maxTextBytes, readText } from '../manifest/input-files.ts'
import type { Instance, Manifest } from '../manifest/manifest.ts'
import { planRun, withNeeds } from '../plan/plan-run.ts'
import { ProjectState } from '../plan/project-state.ts'
import { upstreamFiles, upstreamOf } from '../plan/result-files.ts'

/**
 * The manifest of a project with the elements of its fan-outs, as far as their texts are there: locked, or made and not
 * rejected. A text that does not fit together with the others leaves its fan-out waiting.
 * @param written without any elements
 * @param files after a signal, too, what is there is read
 * @throws FileError for a file that cannot be read
 */
export async function withElements(
  project: ProjectState,
  written: Manifest,
  files: FileContext,
): Promise<Manifest> {
  const { project: places } = project.manifest
  const base = { ...written, project: places }
  const texts = await knownTexts(new ProjectState({ ...project, manifest: base }), files)
  if (texts.size === 0) return base
  const together = await written.expand(texts).catch(mistakesIn)
  const expanded = Array.isArray(together) ? await expandOneByOne(written, texts) : together
  return { ...expanded, project: places }
}

async function expandOneByOne(written: Manifest, texts: ReadonlyMap<string, string>): Promise<Manifest> {
  const fitting = new Map<string, string>()
  let expanded = written
  for (const [id, text] of texts) {
    const together = await written.expand(new Map([...fitting, [id, text]])).catch(mistakesIn)
    if (Array.isArray(together)) continue
    expanded = together
    fitting.set(id, text)
  }
  return expanded
}

async function knownTexts(project: ProjectState, files: FileContext): Promise<Map<string, string>> {
  const { manifest } = project
  const texts = new Map<string, string>()
  const sources = new Map(manifest.fanOuts.map(({ source }) => [source.instance, source]))
  if (sources.size === 0) return texts
  const needed = withNeeds(manifest, sources.keys())
  const { assessments } = await planRun(project, needed, files)
  for (const [id, source] of sources) {
    const upstream = await upstreamOf(source, assessments, project)
    if (upstream.state !== 'known' || (await upstream.hold()) !== null) continue
    const [file] = (await upstreamFiles(source, assessments, project))?.files ?? []
    const found = file && (await readText(files, file.path, source.text, maxTextBytes))
    if (found !== undefined && found.problem === undefined) texts.set(id, found.value)
  }
  return texts
}

/**
 * Why a text cannot be what a fan-out is made of, each a sentence: no array in it, ids that name no file, elements without a
 * column that is used, or with values that a request does not take. A model wrote them, so it is the text that is wrong.
 */
export async function elementProblems(
  context: FileContext,
  written: Manifest,
  { id }: Instance,
  outputs: readonly AssertedOutput[],
): Promise<readonly string[]> {
  const source = written.fanOuts.find((fanOut) => fanOut.source.instance === id)?.source
  if (source === undefined) return []
  const found = await readText(context, outputs[0]!.path, source.text, maxTextBytes)
  if (found.problem !== undefined) return [found.problem]
  const expanded = await written.expand(new Map([[id, found.value]])).catch(mistakesIn)
  return Array.isArray(expanded) ? expanded : []
}

/** The mistakes of a manifest, each a sentence. @throws any other error */
function mistakesIn(error: unknown): string[] {
  if (!(error instanceof UsageError)) throw error
  return (error.facts.problems ?? [error]).map(({ message }) => message)
}
