/**
 * The last part of the name of an operation, which is a path-like string (specification, "Video generation operation"):
 * it identifies the operation. The id of a video is returned as it is.
 */
export function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1)
}
