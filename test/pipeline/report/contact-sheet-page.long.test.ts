import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { contactSheet } from '../../../src/pipeline/report/contact-sheet.ts'
import { buildReport } from '../../../src/pipeline/report/report-model.ts'
import { chromium, openPage, type Page } from '../../support/browser.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { testImages } from '../../support/test-images.ts'
import { sampleProject, type SampleAsset } from './sample-project.ts'
import { siteAssets } from './sample-site.ts'

async function openSheet(assets: readonly SampleAsset[]): Promise<Page> {
  const folder = temporaryFolder()
  const report = await buildReport(testContext({ cwd: folder }), sampleProject(folder, assets))
  const path = join(folder, 'report.html')
  await pipeline(contactSheet(report, { folder, sheetFolder: folder }), createWriteStream(path))
  const page = await openPage(path)
  onTestFinished(() => page.close())
  await page.resize(1440, 1000)
  return page
}

const shownIds = `[...document.querySelectorAll('.asset:not([hidden]) h3')].map((name) => name.textContent)`
const currentId = `document.activeElement.querySelector('h3')?.textContent`

describe.skipIf(chromium === undefined)('in a browser, from a file (needs chromium)', () => {
  test('pictures and videos are there, and nothing is asked for elsewhere or refused', async () => {
    const page = await openSheet(await siteAssets())
    await page.value(`document.querySelectorAll('details').forEach((details) => (details.open = true))`)
    const pictures = await page.value<number>(`document.querySelectorAll('img[data-media]').length`)
    expect(pictures).toBe(12)
    // Each comes when it is near.
    for (let asset = 0; asset < 12; asset++) {
      await page.value(
        `document.querySelectorAll('.asset')[${asset}].scrollIntoView({ behavior: 'instant' })`,
      )
      await page.until(
        `[...document.querySelectorAll('.asset')[${asset}].querySelectorAll('[data-media]')].every((media) =>
          media instanceof HTMLVideoElement ? media.readyState > 0 && media.videoWidth === 640 : media.naturalWidth > 0)`,
      )
    }
    await page.value(
      `document.querySelector('video').scrollIntoView({ block: 'center', behavior: 'instant' })`,
    )
    await page.until(`document.querySelector('video').currentTime > 0`)
    expect(await page.value(`document.querySelector('video').muted`)).toBe(true)
    expect(await page.value(`document.querySelectorAll('[data-gone]').length`)).toBe(0)
    expect(page.complaints).toEqual([])
  })

  test('filters', async () => {
    const page = await openSheet(await siteAssets())
    const choose = (state: string) =>
      page.value(`document.querySelector('#states [data-state="${state}"]').click()`)
    await choose('lost')
    expect(await page.value(shownIds)).toEqual(['icon'])
    await choose('awaiting')
    expect(await page.value(shownIds)).toEqual(['icon', 'hero'])
    expect(await page.value(`document.querySelector('#count').textContent`)).toBe('2 of 12')
    await page.press('Escape')
    await page.value(`{
      const kind = document.querySelector('#kind')
      kind.value = 'text'
      kind.dispatchEvent(new Event('change'))
    }`)
    expect(await page.value(shownIds)).toEqual(['captions[lamp-de]', 'story'])
    await page.press('Escape')
    await page.press('/')
    for (const key of 'kite') await page.press(key)
    expect(await page.value(shownIds)).toEqual(['photos[kite]'])
    for (const key of 'xyz') await page.press(key)
    expect(await page.value(`document.querySelector('#none').checkVisibility()`)).toBe(true)
    await page.press('Escape')
    expect(await page.value(`document.querySelectorAll('.asset:not([hidden])').length`)).toBe(12)
    expect(page.complaints).toEqual([])
  })

  test('keys', async () => {
    const page = await openSheet(await siteAssets())
    await page.press('j')
    expect(await page.value(currentId)).toBe('banner')
    await page.press('c')
    const view = `document.activeElement.querySelector('.compare').dataset.view`
    expect(await page.value(view)).toBe('slider')
    await page.press('ArrowRight')
    await page.press('ArrowRight')
    await page.press('j')
    expect(await page.value(currentId)).toBe('hero')
    await page.press('Enter')
    await page.until(`document.querySelector('#viewer-image').naturalWidth === 768`)
    expect(await page.value(`document.querySelector('#viewer-command code').textContent`)).toBe(
      'modelgate run pick hero 1',
    )
    await page.press('ArrowRight')
    expect(await page.value(`document.querySelector('#viewer-command code').textContent`)).toBe(
      'modelgate run pick hero 2',
    )
    await page.press('Escape')
    await page.until(`!document.querySelector('#viewer').open`)
    expect(await page.value(currentId)).toBe('hero')
    await page.press('k')
    expect(await page.value(currentId)).toBe('icon')
    await page.press('?')
    expect(await page.value(`document.querySelector('#keys').open`)).toBe(true)
    await page.press('Escape')
    await page.until(`!document.querySelector('#keys').open`)
    await page.press('g')
    expect(await page.value(`document.documentElement.dataset.layout`)).toBe('grid')
    expect(page.complaints).toEqual([])
  })

  test('before and after lie over each other, and the slider divides them', async () => {
    const page = await openSheet(await siteAssets())
    await page.press('j')
    await page.press('c')
    await page.until(
      `[...document.querySelectorAll('.compare img')].slice(0, 2).every((image) => image.naturalWidth > 0)`,
    )
    const boxes = await page.value<
      number[][]
    >(`[...document.querySelectorAll('.compare')[0].querySelectorAll('img')].map((image) => {
      const { x, y, width, height } = image.getBoundingClientRect()
      return [x, y, width, height]
    })`)
    expect(boxes[0]).toEqual(boxes[1])
    await page.value(`{
      const split = document.querySelector('.split')
      split.value = '20'
      split.dispatchEvent(new Event('input'))
    }`)
    const clips = `['.before', '.after'].map((side) => getComputedStyle(document.querySelector('.compare ' + side)).clipPath)`
    expect(await page.value(clips)).toEqual(['inset(0px 80% 0px 0px)', 'inset(0px 0px 0px 20%)'])
  })

  test('light and dark, as the system has it or as it is chosen', async () => {
    const page = await openSheet(await siteAssets())
    const ground = `getComputedStyle(document.body).backgroundColor`
    await page.prefer('prefers-color-scheme', 'dark')
    const dark = await page.value(ground)
    await page.prefer('prefers-color-scheme', 'light')
    const light = await page.value(ground)
    expect(dark).not.toBe(light)
    await page.press('t')
    await page.press('t')
    expect(await page.value(ground)).toBe(dark)
  })

  test('nothing is wider than a phone', async () => {
    const page = await openSheet(await siteAssets())
    await page.resize(375, 800, true)
    for (const layout of ['list', 'grid']) {
      expect([layout, await page.value(`document.documentElement.scrollWidth`)]).toEqual([layout, 375])
      await page.press('g')
    }
  })

  test('hostile texts are only texts', async () => {
    const attack = `</script><script>window.hacked = 1</script><img src=x onerror="hacked=1">" onfocus="hacked=1" '`
    const page = await openSheet([
      {
        id: attack,
        state: 'awaiting',
        prompt: attack,
        reasons: [attack],
        instance: { variants: 2, alt: attack, model: attack, output: 'a.png' },
        candidates: [{ bytes: (await testImages(8)).png, mediaType: 'image/png', size: [8, 8] }],
        failure: { code: attack, message: attack, exit_code: 9 },
      },
      {
        id: 'text',
        state: 'fresh',
        instance: { lane: 'text', output: 'b.json' },
        locked: { bytes: JSON.stringify({ [attack]: [attack] }), mediaType: 'application/json' },
      },
    ])
    await page.until(`document.querySelector('img[data-ready]') !== null`)
    expect(await page.value(`typeof hacked`)).toBe('undefined')
    expect(await page.value(`document.querySelector('h3').textContent`)).toBe(attack)
    expect(await page.value(`document.querySelector('.prompt').textContent`)).toBe(attack)
    expect(await page.value(`document.querySelector('img').alt`)).toBe(attack)
    expect(page.complaints).toEqual([])
  })

  test('of a thousand pictures only those near the window are made', async () => {
    const { png } = await testImages(64, 48)
    const page = await openSheet(
      Array.from({ length: 1000 }, (_, index) => ({
        id: `photos[${index}]`,
        state: 'fresh',
        prompt: `Picture ${index}`,
        // Each other bytes: after its end, a PNG may have anything.
        locked: {
          bytes: Buffer.concat([png, Buffer.from(String(index))]),
          mediaType: 'image/png',
          size: [64, 48],
        },
      })),
    )
    await page.until(`document.querySelector('img[data-ready]') !== null`)
    expect(await page.value<number>(`document.querySelectorAll('img[src]').length`)).toBeLessThan(40)
    await page.value(`document.querySelectorAll('.asset')[999].scrollIntoView({ behavior: 'instant' })`)
    await page.until(`document.querySelectorAll('img')[999].naturalWidth === 64`)
    expect(page.complaints).toEqual([])
  })
})
