import re
def sub(p, pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b)
    open(p,'w').write(s)
P='src/pipeline/plan/assess.ts'
s=open(P).read()
a=s.index('/** Nothing can be made: the key is not known yet'); b=s.index('interface Examined {')
s=s[:a]+'''/** Nothing can be made: the key is not known yet, or the instance is frozen and nothing is locked of it. */
async function assessHeldUp(subject: Subject): Promise<Assessment> {
  const { instance, project, upstreams, found, base } = subject
  const { waiting } = instance
  const waitedFor = upstreams.flatMap((upstream) => (upstream.state === 'known' ? [] : upstream))
  // What stands still outlasts what is only to be made first.
  const state = waitedFor.some((one) => one.state === 'blocked') ? 'blocked' : 'pending'
  const reasons = waitedFor.filter((one) => one.state === state).map(({ reason }) => reason)
  if (waiting !== undefined) {
    const { text } = instance.references[0]!
    if (waiting.problem === null && state === 'pending' && waitedFor.length > 0) {
      return { ...base, state, reasons: [`After ${text}: one for each element, at most ${waiting.most}.`] }
    }
    const reason = waiting.problem ?? reasons[0] ?? (await firstHold(subject)) ?? `${text} cannot be read.`
    return { ...base, state: 'blocked', reasons: [reason] }
  }
  if (found === null && !project.forced.force) {
    const obstacles = await obstaclesOf(instance, null, project)
    if (obstacles.length > 0) return inTheWay(subject, obstacles)
  }
  if (!instance.isFrozen) return { ...base, state, reasons }
  return { ...base, state: 'blocked', reasons: ['It is frozen, and none of it is locked.'] }
}

'''+s[b:]
s=s.replace('''  for (const kind of ['elsewhere', 'unknown', 'lost'] as const) {
    const reasons = variants.flatMap(({ found }) => (found.kind === kind ? found.reason : []))
    if (reasons.length === 0) continue
    const isElsewhere = kind === 'elsewhere'
    const state = isElsewhere ? 'unknown' : kind
    return { ...base, state, reasons: [...new Set(reasons)], ...(isElsewhere && { isElsewhere }) }
  }
''','''  for (const state of ['unknown', 'lost'] as const) {
    const held = variants.flatMap(({ found }) => (found.kind === state ? found : []))
    if (held.length === 0) continue
    const reasons = [...new Set(held.map(({ reason }) => reason))]
    return { ...base, state, reasons, isElsewhere: held.some(({ isElsewhere = false }) => isElsewhere) }
  }
''')
s=s.replace('''  | { readonly kind: 'unknown'; readonly reason: string }
  /** A request was given to a queue that is not the one asked: workers may be at it, or have made it. */
  | { readonly kind: 'elsewhere'; readonly reason: string }
  /** It was made and billed, and could not be fetched before its address expired. */
  | { readonly kind: 'lost'; readonly reason: string }
''','''  /**
   * `lost`: it was made and billed, and could not be fetched before its address expired. `isElsewhere`: it was given to a
   * queue that is not the one asked, and workers may be at it, or have made it.
   */
  | { readonly kind: 'unknown' | 'lost'; readonly reason: string; readonly isElsewhere?: boolean }
''')
s=s.replace("      return { kind: 'elsewhere', reason }","      return { kind: 'unknown', reason, isElsewhere: true }")
a=s.index('  const upstreams = [...byText.values()]'); b=s.index('  const base = {\n    instance,\n    key: known')
s=s[:a]+'''  const upstreams = [...byText.values()]
  const isKnown = instance.waiting === undefined && upstreams.every(({ state }) => state === 'known')
  // A picked candidate stays one when there are to be fewer.
  const variants = Math.max(instance.variants, project.lock.get(instance.id)?.picked ?? 0)
  const known = isKnown
    ? await keysOf({ ...instance, variants }, project.manifest.gateway, {
        fileDigest: (path) => project.inputDigest(path),
        upstream({ text }) {
          const found = byText.get(text)
          return found?.state === 'known' ? found.outputs : undefined
        },
      })
    : undefined
  const found = instance.waiting === undefined ? findBlock(instance, known?.keys ?? [], project) : null
'''+s[b:]
a=s.index('function findKeys('); b=s.index('function inTheWay(')
s=s[:a]+s[b:]
open(P,'w').write(s)
