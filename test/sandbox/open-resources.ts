/** The open sockets, timers and other handles of this process, by kind. */
export function openResources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
