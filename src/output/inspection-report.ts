import { shownIdLength } from '../files/calls/call-record.ts'
import type { Inspection } from '../events/inspection.ts'
import { localSecond } from '../local-time.ts'
import { commandText, reportText, type Columns } from './table-cells.ts'

export function inspectionReport(file: Inspection, columns: Columns): string {
  const { path, bytes, sha256, made_with: origin, credentials } = file
  const facts = reportText(
    [
      ['file', path],
      ['type', typeText(file)],
      ['bytes', String(bytes)],
      ['sha256', sha256],
      ['state', stateText(file)],
      ['credentials', credentials ? 'present, not verified (C2PA)' : 'none (C2PA)'],
      ['made with', originText(origin)],
      ['prompt', origin?.prompt ?? null],
      ['revised', origin?.revised_prompt ?? null],
      ['first path', origin?.path ?? null],
      ['request id', origin?.request_id ?? null],
    ],
    columns,
  )
  return facts + commandText('again', origin?.again ?? null, columns)
}

function typeText({ mime_type: type, width, height, seconds, alpha }: Inspection): string {
  return [
    type ?? 'unknown',
    ...(width === null || height === null ? [] : [`${width}x${height}`]),
    ...(seconds === null ? [] : [`${seconds} s`]),
    ...(alpha ? ['with alpha channel'] : []),
  ].join(', ')
}

function stateText({ integrity, damage, mime_type: type }: Inspection): string | null {
  switch (integrity) {
    case 'whole':
      return 'whole'
    case 'unknown':
      return 'no damage found; the format does not say where it ends'
    case 'unchecked':
      return /^(?:image|video)\//.test(type ?? '')
        ? 'cannot be judged: there is no check for this type'
        : null
    default:
      return `damaged: ${damage}`
  }
}

function originText(origin: Inspection['made_with']): string | null {
  if (origin === null) return null
  const { command, model, time, sidecar, log_id: id } = origin
  const sources = [
    ...(id === null ? [] : [`call ${id.slice(0, shownIdLength)}`]),
    ...(sidecar === null ? [] : [sidecar]),
  ]
  const facts = [`modelgate ${command ?? ''}`.trim(), model, time && localSecond(Date.parse(time))].filter(
    (fact) => fact !== null,
  )
  return `${facts.join(', ')} (${sources.join(', ')})`
}
