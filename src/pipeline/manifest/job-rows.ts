import { extname } from 'node:path'
import type { JobDefinition } from './job-definition.ts'
import { memberOf, valueOf } from './yaml-nodes.ts'
import type { Reading } from './reading.ts'
import { rowsOfCsv, rowsOfJsonLines, rowsOfList, type Row, type Rows } from './rows.ts'
import { substitute } from './substitute.ts'

/** Most instances of a manifest. */
export const maxInstances = 100_000

/** Files with a JSON object a line; every other one is CSV. */
const jsonLines = new Set(['.jsonl', '.ndjson'])

/** Reads the rows of jobs, each file once. Mistakes are reported; a row with one is left out. */
export function createRowReader(reading: Reading): (job: JobDefinition) => Promise<readonly Row[] | null> {
  const { files, mistakes, placeOf, placeIn, variables } = reading
  const known = new Map<string, Rows>()

  /** What a path leads to, which has been reported if it is nothing. */
  const fileRows = async (path: string, at: number): Promise<readonly Row[]> => {
    const read = known.get(path)
    if (read !== undefined) return read.rows
    const found = await files.text(path)
    if (found.problem !== undefined) {
      const { line, column = 1, problem } = found
      mistakes.add(line === undefined ? placeOf(at) : placeIn(path, line, column), problem)
      return []
    }
    const rows = jsonLines.has(extname(path).toLowerCase())
      ? rowsOfJsonLines(found.value, maxInstances)
      : rowsOfCsv(found.value, maxInstances)
    known.set(path, rows)
    for (const { line, column, message } of rows.problems) {
      mistakes.add(placeIn(path, line, column), message)
    }
    return rows.rows
  }

  return async ({ node, own }) => {
    const each = memberOf(node, 'each')?.node
    if (each === undefined) return null
    if (own['each'] === undefined) return []
    if (each.kind === 'scalar') {
      const { value: path, problems } = substitute(String(each.value), { columns: null, ...variables })
      for (const { message } of problems) mistakes.add(placeOf(each.at), message)
      return problems.length > 0 ? [] : fileRows(path, each.at)
    }
    const { rows, problems } = rowsOfList(valueOf(each) as unknown[])
    for (const { line, message } of problems) {
      mistakes.add(placeOf(each.kind === 'list' ? each.items[line - 1]!.at : each.at), message)
    }
    return rows
  }
}
