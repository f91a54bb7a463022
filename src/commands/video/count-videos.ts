import { mostPlannedNames } from '../../contract/limits.ts'
import type { Body } from '../shared/request-body.ts'

/** How many videos a request asks for; what `--no-validate` lets through need not be a number at all. */
export function videosOf(request: unknown): number {
  if (!isBody(request)) return 1
  const { parameters } = request
  const samples = isBody(parameters) ? parameters['sampleCount'] : undefined
  const each = typeof samples === 'number' && samples >= 1 ? Math.floor(samples) : 1
  return Math.max(1, Math.min(each * instancesOf(request).length, mostPlannedNames))
}

/** The orders of an operation as far as they are objects; what else stands there is left to the check. */
export function instancesOf({ instances }: Body): Body[] {
  return Array.isArray(instances) ? instances.filter(isBody) : []
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
