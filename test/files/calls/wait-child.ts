// Follows one job of many, as a waiting command does: node wait-child.ts FOLDER ID UPDATES
import process from 'node:process'
import { JobStore } from '../../../src/files/calls/job-store.ts'
import { fakeClock } from '../../support/fake-clock.ts'

const [folder = '', id = '', updates = ''] = process.argv.slice(2)
const job = await new JobStore(folder, fakeClock()).find(id)
if (job === undefined) throw new Error(`${id} is not there.`)
for (let count = 1; count <= Number(updates); count++) {
  await job.update({
    state: 'in_progress',
    progress: count,
    files: [`/${id}-${process.argv[5]}-${count}.mp4`],
  })
}
await job.update({ state: 'completed' })
