import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../../src/files/codecs.ts'
import { cutOut } from '../../../src/sandbox/images/pixels.ts'
import { plainPicture } from '../../../src/sandbox/images/plain-picture.ts'
import { drawFilm } from '../../../src/sandbox/videos/film/draw-film.ts'
import type { SampleAsset, SampleFile } from './sample-project.ts'

/** The assets of a small site, in most states, with pictures and a video as the sandbox draws them. */
export async function siteAssets(): Promise<SampleAsset[]> {
  const harbour = 'A small harbour at dawn, boats at rest, mist over calm water, muted colours'
  return [
    {
      id: 'hero',
      state: 'awaiting',
      prompt: `${harbour}. Wide, with room for a headline on the left. No people, no lettering.`,
      instance: { variants: 4, alt: 'Harbour at dawn' },
      fields: { size: value('1536x1024'), quality: value('high') },
      candidates: [
        await picture(harbour, 1),
        await picture(harbour, 2),
        {
          ...(await picture(harbour, 3, [480, 320])),
          rejected: ['It is 480 pixels wide, and 768 are asked for.'],
        },
        await picture(harbour, 4),
      ],
      cost: 0.041,
    },
    {
      id: 'banner',
      state: 'changed',
      reasons: ['assets/banner.webp is not the file that is locked.'],
      prompt: 'Wide, room for a headline',
      instance: { command: 'image edit', alt: 'The harbour, wide' },
      fields: {
        image: {
          kind: 'files',
          files: [
            {
              source: { reference: { text: '@hero', instance: 'hero', candidate: null } },
              role: null,
            },
          ],
        },
        mask: { kind: 'files', files: [{ source: { path: 'masks/left.png' }, role: null }] },
      },
      locked: await picture('A harbour in the evening, sails, warm water', 8, [768, 320]),
      found: await picture('A harbour in the evening, sails, warm water', 9, [768, 320]),
      cost: 0.05,
    },
    {
      id: 'portrait',
      state: 'new',
      prompt: 'A portrait of the owner in front of the shop, in the style of a famous living painter',
      failure: {
        code: 'content_refused',
        exit_code: 9,
        message: 'The gateway refused this prompt: it asks for the style of a living artist.',
      },
    },
    {
      id: 'teaser',
      state: 'fresh',
      prompt: 'The harbour wakes up: the mist lifts, a boat leaves, slow camera from left to right',
      instance: { command: 'video generate', lane: 'video', model: 'veo-3.1', output: 'assets/teaser.mp4' },
      fields: { duration_seconds: value(4), aspect_ratio: value('16:9') },
      locked: film(harbour, 1),
      before: film('Hills and a lake at dusk', 5),
      cost: 1.6,
      result: { took_s: 71, job_id: 'video_68f0c2' },
    },
    {
      id: 'photos[lamp]',
      state: 'fresh',
      prompt: 'Hills behind a desk lamp on white, soft light',
      instance: { alt: 'Desk lamp' },
      locked: await picture('hills, a lamp, bright noon', 12, [512, 512]),
      before: await picture('hills, a lamp, bright noon', 13, [512, 512]),
      cost: 0.041,
    },
    {
      id: 'photos[chair]',
      state: 'fresh',
      prompt: 'A chair on white, soft light',
      instance: { alt: 'Chair' },
      locked: await picture('forest in autumn', 21, [512, 512]),
      cost: 0.041,
    },
    {
      id: 'photos[kite]',
      state: 'stale',
      reasons: ['prompt has changed.', 'quality has changed.'],
      prompt: 'A red kite over dunes, from below, strong wind',
      locked: await picture('dunes, desert', 22, [512, 768]),
    },
    {
      id: 'sprites[fox]',
      state: 'fresh',
      prompt: 'A fox, side view, pixel art, transparent background',
      instance: { output: 'assets/fox.png', alt: 'Fox, standing' },
      fields: { background: value('transparent') },
      locked: await sprite('a small fox island', 31),
      before: await sprite('a small fox island', 32),
      cost: 0.012,
    },
    {
      id: 'captions[lamp-de]',
      state: 'fresh',
      prompt: 'A caption in German for this picture, at most twelve words. Name the material and the light.',
      instance: { command: 'respond', lane: 'text', model: 'text-model', output: 'copy/lamp.de.json' },
      fields: { schema: value({ type: 'object', properties: { headline: { type: 'string' } } }) },
      locked: {
        bytes:
          '{"headline":"Messing und warmes Licht","text":"Die Leuchte für lange Abende.\\nFür Tisch und Regal.","words":11,"tags":["Messing","warm"],"ok":true}',
        mediaType: 'application/json',
      },
      before: {
        bytes: '{"headline":"Leuchte","text":"Eine Leuchte.","words":2,"tags":[],"ok":true}',
        mediaType: 'application/json',
      },
      cost: 0.002,
    },
    {
      id: 'story',
      state: 'fresh',
      prompt: 'Three short paragraphs about the harbour, for the page “About us”. Calm, no superlatives.',
      instance: { command: 'respond', lane: 'text', model: 'text-model', output: 'copy/about.md' },
      locked: {
        bytes:
          '# The harbour\n\nBoats have been built here since 1874. The yard is small, and has stayed so on purpose.\n\nWe work with **oak and larch** from the valley, and repair what others would replace.\n\n- Monday to Friday, 8 to 17\n- Saturday by appointment\n',
        mediaType: 'text/markdown',
      },
      cost: 0.003,
    },
    {
      id: 'icon',
      state: 'lost',
      reasons: ['assets/icon.webp is gone, and the store does not have it.'],
      prompt: 'An anchor, two lines, monochrome',
    },
    {
      id: 'map',
      state: 'pending',
      prompt: 'A map of the harbour, from the hero picture',
      reasons: ['It waits for hero.'],
    },
  ]
}

const value = (value: unknown) => ({ kind: 'value', value }) as const

function drawn(text: string, seed: number, width: number, height: number): Pixels {
  return plainPicture({ seed: [seed], text, caption: `#${seed}`, width, height })
}

async function picture(
  prompt: string,
  seed: number,
  [width, height]: readonly [number, number] = [768, 512],
): Promise<SampleFile> {
  const pixels = drawn(prompt, seed, width, height)
  const bytes = seed % 2 === 0 ? await encodeWebp(pixels, 80) : await encodeJpeg(pixels, 80)
  return { bytes, mediaType: seed % 2 === 0 ? 'image/webp' : 'image/jpeg', size: [width, height] }
}

async function sprite(prompt: string, seed: number): Promise<SampleFile> {
  const bytes = await encodePng(cutOut(drawn(prompt, seed, 256, 256)))
  return { bytes, mediaType: 'image/png', size: [256, 256] }
}

function film(prompt: string, seed: number): SampleFile {
  const bytes = drawFilm({ seed: String(seed), prompts: [prompt], width: 640, height: 360, seconds: 4 })
  return { bytes, mediaType: 'video/mp4', size: [640, 360], seconds: 4 }
}
