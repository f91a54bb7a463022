export interface LoadOptions {
  readonly jobs: number
  /** Of each lane. */
  readonly concurrency?: number
}

/** Mostly texts; pictures, and of each an edit and a caption; some videos of pictures. */
export function loadFiles({ jobs, concurrency = 256 }: LoadOptions): Record<string, string> {
  const pictures = Math.floor(jobs * 0.12)
  const films = Math.max(2, Math.floor(jobs * 0.02))
  const texts = jobs - 3 * pictures - films
  const rows = (count: number) => `each: rows-${count}.csv`
  const table = (count: number) =>
    `id,name\n${Array.from({ length: count }, (_, at) => `n${at},boat ${at}\n`).join('')}`
  const manifest = `
version: 1
budget: { creates: ${jobs} }
lanes: { text: ${concurrency}, image: ${concurrency}, video: ${concurrency} }
jobs:
  photos:
    ${rows(pictures)}
    image create: { model: gpt-image-2, prompt: "\${name}" }
    out: photos/\${id}.png
  names:
    ${rows(texts)}
    generate: { model: gemini-3-flash, prompt: "A name for \${name}" }
    out: names/\${id}.txt
  scenes:
    ${rows(pictures)}
    image edit: { model: gpt-image-2, prompt: "At night, \${name}", image: "@photos[\${id}]" }
    out: scenes/\${id}.png
  captions:
    ${rows(pictures)}
    respond: { model: some-text-model, input: "A caption of \${name}", attach: "@photos[\${id}]" }
    out: captions/\${id}.txt
  films:
    ${rows(films)}
    video generate: { model: veo-3.1, prompt: "\${name}", image: "@photos[\${id}]" }
    out: films/\${id}.mp4
`
  const tables = [...new Set([pictures, texts, films])].map(
    (count) => [`rows-${count}.csv`, table(count)] as const,
  )
  return { 'modelgate.yaml': manifest, ...Object.fromEntries(tables) }
}
