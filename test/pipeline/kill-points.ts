/** Every so many points of a run it is killed; 1 takes all of them, and much longer. */
const stride = Number(process.env['KILL_STRIDE'] ?? 23)

/** Calls back for points of a run, four at a time. @param first so that several tests do not take the same points */
export async function atPoints(
  count: number,
  first: number,
  killAt: (point: number) => Promise<void>,
): Promise<void> {
  const all = Array.from({ length: count }, (_, at) => at + 1)
  await atEach(
    all.filter((point) => point % stride === first % stride),
    killAt,
  )
}

/** The same for each of these. */
export async function atEach<Point>(
  chosen: readonly Point[],
  killAt: (point: Point) => Promise<void>,
): Promise<void> {
  const points = [...chosen]
  const work = async () => {
    for (let point = points.shift(); point !== undefined; point = points.shift()) await killAt(point)
  }
  await Promise.all([work(), work(), work(), work()])
}
