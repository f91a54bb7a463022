import { sample } from './sample.ts'

/** Calls back for points of a run, four at a time: four of them in CI, all in the long programme. @param name of the run */
export async function atPoints(
  count: number,
  name: string,
  killAt: (point: number) => Promise<void>,
): Promise<void> {
  const all = Array.from({ length: count }, (_, at) => at + 1)
  await atEach(
    sample(all, 4, (point) => `${name}, ${point}`),
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
