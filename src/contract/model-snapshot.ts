/** The id of a model without the date of a snapshot: `gpt-image-2` for `gpt-image-2-2026-04-21`. */
export function withoutDate(id: string): string {
  return id.replace(/-\d{4}-\d{2}-\d{2}$/, '')
}
