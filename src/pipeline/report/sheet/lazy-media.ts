import { all, tell } from './page-parts.ts'

/**
 * Pictures and videos lie at the end of the page as base64, and become files of the browser when they come near the
 * window: a page with a thousand of them opens at once.
 */

type Media = HTMLImageElement | HTMLVideoElement

const addresses = new Map<string, string>()

/** An address for the file; undefined while its data has not arrived, and null if there is none. */
function addressOf(id: string): string | null | undefined {
  const known = addresses.get(id)
  if (known !== undefined) return known
  const data = document.getElementById(id)
  // The parser adds to an element until it has come to the next one.
  const isWhole = document.readyState !== 'loading' || data?.nextSibling
  if (data === null || !isWhole) return document.readyState === 'loading' ? undefined : null
  const text = data.textContent
  if (text === '') return null
  const bytes = Uint8Array.from(window.atob(text), (character) => character.charCodeAt(0))
  const address = URL.createObjectURL(new Blob([bytes], { type: data.dataset['type'] ?? '' }))
  addresses.set(id, address)
  data.remove()
  return address
}

const waiting = new Set<Media>()

/** Gives an element its bytes; later, if they have not arrived. */
function load(media: Media): void {
  const id = media.dataset['media']
  if (id === undefined || media.hasAttribute('src')) return
  const address = addressOf(id)
  if (address === undefined) return void waiting.add(media)
  waiting.delete(media)
  if (address === null) return markGone(media)
  media.addEventListener('error', () => markGone(media))
  media.addEventListener(media instanceof HTMLImageElement ? 'load' : 'loadedmetadata', () => {
    media.dataset['ready'] = ''
  })
  media.src = address
}

function markGone(media: Media): void {
  media.dataset['gone'] = ''
  if (media instanceof HTMLImageElement) media.alt = `${media.alt} (the picture cannot be shown)`
}

/** Shows what comes near the window from now on. */
export function startLoading(): void {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue
        near.unobserve(target)
        load(target as Media)
      }
    },
    { rootMargin: '1200px 0px' },
  )
  for (const media of all<Media>('[data-media]')) near.observe(media)
  startPlaying()
  // The browser's own command: what is not decoded in time is missing, which the button of the page prevents.
  window.addEventListener('beforeprint', () => all<Media>('.asset:not([hidden]) [data-media]').forEach(load))
  const retry = window.setInterval(() => waiting.forEach(load), 100)
  const stop = () => {
    waiting.forEach(load)
    window.clearInterval(retry)
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', stop)
  else stop()
}

/** Videos play, muted, while they are in view; one that was paused by hand stays so. */
function startPlaying(): void {
  if (window.matchMedia('(prefers-reduced-motion: reduce)').matches) return
  const inView = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const video = target as HTMLVideoElement
        if (!isIntersecting) {
          if (!video.paused) video.dataset['resumes'] = ''
          video.pause()
        } else if (video.currentTime === 0 || 'resumes' in video.dataset) {
          delete video.dataset['resumes']
          load(video)
          // A browser may refuse to play what nobody has asked for.
          video.play().catch(() => {})
        }
      }
    },
    { threshold: 0.5 },
  )
  for (const video of all<HTMLVideoElement>('video')) inView.observe(video)
}

/** Prints when every picture of the assets that are shown is there. */
export async function printWhole(): Promise<void> {
  const media = all<Media>('.asset:not([hidden]) [data-media]')
  tell(`Getting ${media.length} pictures ready…`)
  media.forEach(load)
  const images = media.filter((element) => element instanceof HTMLImageElement)
  await Promise.allSettled(images.map((image) => image.decode()))
  tell('')
  window.print()
}

/** The bytes of an element that has not been near the window. */
export function addressFor(media: Media): string {
  load(media)
  return media.src
}
