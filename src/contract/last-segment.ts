/**
 * The last part of the name of an operation, which is a path-like string (specification, "Video generation operation"):
 * it tells one from the others. The id of a video as it is.
 */
export function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}
