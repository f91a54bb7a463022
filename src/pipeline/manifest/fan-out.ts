import { isDeviceName } from '../../files/file-name.ts'
import { parseJson } from '../../files/parse-json.ts'
import { numberOf } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import type { JobDefinition } from './job-definition.ts'
import { usualElements } from './manifest-fields.ts'
import type { FanOut } from './manifest.ts'
import type { Mistakes } from './mistakes.ts'
import { foldedPath } from './output-paths.ts'
import { parseReference } from './references.ts'
import { arrayIn, rowsOfJson, type IdRule, type Row } from './rows.ts'
import { memberOf } from './yaml-nodes.ts'

/** The elements of a fan-out whose text is not there, or has too many: then with the problem, a sentence. */
export interface WaitingRows extends FanOut {
  readonly problem: string | null
}

/** The rows of a job; null without `each`. */
export type JobRows = readonly Row[] | WaitingRows | null

/**
 * A model has written them, and each becomes a part of the name of a file on any system.
 *
 * `[A-Za-z0-9._-]{1,64}`, without a leading dot, not reserved on Windows, unique whatever the case.
 */
const elementIds: IdRule = {
  problemOf(id) {
    const shown = JSON.stringify(id.slice(0, 64))
    if (isDeviceName(id)) return `The id ${shown} is reserved on Windows.`
    if (id === '') return 'The element has no `id`, which the other elements have.'
    return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(id)
      ? undefined
      : `The id ${shown}${id.length > 64 ? ' …' : ''} cannot name a file: it has letters, digits, ".", "_" and "-", at most 64, and no dot at the beginning.`
  },
  folded: foldedPath,
}

/** What `each: '@job'` of a job says, or undefined for any other `each`. Mistakes in it are reported. */
export function fanOutOf(
  mistakes: Mistakes,
  { name, node, own }: JobDefinition,
  jobs: readonly JobDefinition[],
): FanOut | undefined {
  const { each, max_instances: most } = own
  const written = memberOf(node, 'each')?.node
  if (written === undefined || typeof each !== 'string' || !each.startsWith('@')) {
    const limit = memberOf(node, 'max_instances')
    if (limit !== undefined) mistakes.report(limit.at, 'max_instances is for `each: "@job"`.')
    return undefined
  }
  const { job, row, candidate } = parseReference(each) ?? {}
  const source = jobs.find((other) => other.name === job)
  const near = nearestName(
    job ?? each.slice(1),
    jobs.map((other) => other.name),
  )
  const problem =
    job === undefined || row !== undefined || candidate !== undefined
      ? `${JSON.stringify(each)} is not a job: each takes @job, the JSON array that a text job writes.`
      : source === undefined
        ? `There is no job ${job} for ${JSON.stringify(each)}${near === undefined ? '.' : `; did you mean @${near}?`}`
        : source.settings.lane !== 'text'
          ? `${JSON.stringify(each)} is not a text, and each takes the JSON array of one.`
          : memberOf(source.node, 'each') !== undefined
            ? `${JSON.stringify(each)} has \`each\` itself: elements come from one text.`
            : undefined
  if (problem !== undefined) mistakes.report(written.at, problem)
  const out = memberOf(node, 'out')
  if (typeof own['out'] === 'string' && !/(?<!\$)\$\{(?!env:|var:)/.test(own['out'])) {
    mistakes.report(out!.node.at, 'out needs a column such as ${id}: each element has a file of its own.')
  }
  return {
    job: name,
    source: { text: each, instance: job ?? name, candidate: null },
    most: numberOf(most) ?? usualElements,
    isBounded: most !== undefined,
  }
}

/**
 * The elements of a fan-out, as far as its text is known. Mistakes in the text are reported: nothing is made of it.
 * @param texts by the instances that made them
 */
export function readElements(
  mistakes: Mistakes,
  fanOut: FanOut,
  texts: ReadonlyMap<string, string>,
): readonly Row[] | WaitingRows {
  const { source, most } = fanOut
  const text = texts.get(source.instance)
  if (text === undefined) return { ...fanOut, problem: null }
  const count = arrayIn(parseJson(text).value)?.length ?? 0
  if (count > most) {
    const problem = `${source.text} has ${count} elements, more than max_instances of ${fanOut.job} (${most}).`
    return { ...fanOut, problem }
  }
  const { rows, problems } = rowsOfJson(text, elementIds, 'The text')
  for (const { line, column, message } of problems) {
    mistakes.report({ file: source.text, line, column }, message)
  }
  return rows
}
