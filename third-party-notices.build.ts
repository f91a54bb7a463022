import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A work that the bundle contains, and what its licence asks to be stated. */
export interface Work {
  /** Name and version. */
  readonly title: string
  /** An SPDX expression. */
  readonly license: string
  /** Copyright lines and acknowledgements that are not in the text. */
  readonly notices: readonly string[]
  /** The whole text of its licence, or where it is found in this document. */
  readonly text: string
}

const mitText = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

const iscText = `Permission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH
REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND
FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM
LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR
OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR
PERFORMANCE OF THIS SOFTWARE.`

/** For packages without a licence file. */
const standardTexts: Readonly<Record<string, string>> = { MIT: mitText, ISC: iscText }

const mit = (title: string, ...notices: string[]): Work => ({ title, license: 'MIT', notices, text: mitText })

const emscripten = [
  mit('Emscripten', 'Copyright (c) 2010-2014 Emscripten authors'),
  mit('musl', 'Copyright (c) 2005-2020 Rich Felker, et al.'),
]

/**
 * What packages contain of other works, as compiled or copied code, without a licence file of those.
 * By name, or by name and version where a new version may well contain others.
 */
const contents: Readonly<Record<string, readonly Work[]>> = {
  '@jsquash/jpeg@1.6.0': [
    {
      title: 'mozjpeg 3.3.1',
      license: 'IJG AND BSD-3-Clause',
      notices: [
        'This software is based in part on the work of the Independent JPEG Group.',
        'Copyright (C) 1991-2016, Thomas G. Lane, Guido Vollbeding',
        'Copyright (C) 2009-2020 D. R. Commander',
        'Copyright (C) 2015 Viktor Szathmary',
        'Copyright (C) 2014, Mozilla Corporation',
      ],
      text: 'Its licences are the second text of @jsquash/jpeg.',
    },
    ...emscripten,
  ],
  '@jsquash/png@3.1.1': [
    mit('png 0.17.10 (Rust)', 'Copyright (c) 2015 nwin'),
    mit('fdeflate 0.3.3 (Rust)', 'The image-rs Developers'),
    mit('flate2 1.0.28 (Rust)', 'Copyright (c) 2014 Alex Crichton'),
    mit(
      'miniz_oxide 0.7.1 (Rust)',
      'Copyright 2013-2014 RAD Game Tools and Valve Software',
      'Copyright 2010-2014 Rich Geldreich and Tenacious Software LLC',
      'Copyright (c) 2017 Frommi',
    ),
    mit('crc32fast 1.3.2 (Rust)', 'Copyright (c) 2018 Sam Rijs, Alex Crichton and contributors'),
    mit('simd-adler32 0.3.7 (Rust)', 'Copyright (c) [2021] [Marvin Countryman]'),
    mit('rgb 0.8.37 (Rust)', 'Copyright (c) 2019 Kornel'),
    mit('wasm-bindgen 0.2.89 (Rust)', 'Copyright (c) 2014 Alex Crichton'),
    mit('dlmalloc 0.2.6 (Rust)', 'Copyright (c) 2014 Alex Crichton'),
    mit('Rust standard library 1.81.0', 'Copyright (c) The Rust Project Contributors'),
  ],
  '@jsquash/webp@1.5.0': [
    {
      title: 'libwebp d2e245ea9e959a5a79e1db0ed2085206947e98f2',
      license: 'BSD-3-Clause',
      notices: ['Copyright (c) 2010, Google Inc. All rights reserved.'],
      text: 'Its licence is the second text of @jsquash/webp.',
    },
    ...emscripten,
  ],
  undici: [mit('llhttp', 'Copyright Fedor Indutny, 2018.')],
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string; readonly email?: string }
  readonly dependencies?: Readonly<Record<string, string>>
}

/** A package of which the bundle contains something. */
export interface BundledPackage {
  /** Its folder. */
  readonly root: string
  readonly manifest: Manifest
  /** Those of its files that are in the bundle. */
  readonly files: readonly string[]
  /** What it contains of other works. */
  readonly parts: readonly Work[]
}

/** The packages that files belong to. @param files absolute paths; those outside node_modules are passed over */
export function bundledPackages(files: readonly string[]): BundledPackage[] {
  const folders = new Map<string, string[]>()
  for (const file of files) {
    const [root] = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file) ?? []
    if (root !== undefined) folders.set(root, [...(folders.get(root) ?? []), file])
  }
  return [...folders].map(([root, files]) => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
    const { name, version } = manifest
    const parts = contents[name] ?? contents[`${name}@${version}`]
    if (parts === undefined && files.some((file) => file.endsWith('.wasm')))
      throw new Error(`What is compiled into ${name} ${version}? Add it to contents.`)
    return { root, manifest, files, parts: parts ?? [] }
  })
}

/**
 * The licences of everything from packages in a bundle, as one text: the same for the same packages, in any order.
 * @param files absolute paths of modules and WebAssembly files; those outside node_modules are passed over
 * @throws {Error} for a package without a licence, or with compiled code of which `contents` does not say what it is
 */
export function thirdPartyNotices(files: readonly string[]): string {
  const works = bundledPackages(files).flatMap(worksOf)
  return write([...new Map(works.map((work) => [work.title, work])).values()].sort(byTitle))
}

function worksOf({ root, manifest, files, parts }: BundledPackage): readonly Work[] {
  const { name, version, license } = manifest
  const title = `${name} ${version}`
  if (license === undefined) throw new Error(`${title} does not say what its licence is.`)
  const texts = licenceTexts(root, files)
  if (texts.length > 0) return [{ title, license, notices: [], text: texts.join('\n\n') }, ...parts]
  const text = standardTexts[license]
  if (text === undefined)
    throw new Error(`${title} has no licence file, and ${license} no standard text here.`)
  return [{ title, license, notices: [`Copyright (c) ${authorOf(manifest)}`], text }, ...parts]
}

/** The licence files of a package's root, and of each folder below it that holds one of the files. */
function licenceTexts(root: string, files: readonly string[]): readonly string[] {
  const folders = new Set([root])
  for (const file of files) {
    for (let folder = dirname(file); folder.length > root.length; folder = dirname(folder))
      folders.add(folder)
  }
  const texts = [...folders].sort().flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^(licen[cs]e|copying|copyright|notice|patents)\b(?!.*\.[cm]?[jt]s$)/i.test(name))
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim()),
  )
  return [...new Set(texts)]
}

function authorOf({ name, author }: Manifest): string {
  if (author === undefined) return `the authors of ${name}`
  if (typeof author === 'string') return author
  return author.email === undefined ? author.name : `${author.name} <${author.email}>`
}

function byTitle(one: Work, other: Work): number {
  return one.title < other.title ? -1 : 1
}

/** A list of all, then each text once, under the works that it is for. */
function write(works: readonly Work[]): string {
  const list = works.map(({ title, license }) => `- ${title} (${license})`)
  const sections = Map.groupBy(works, ({ text }) => text)
  const texts = [...sections].map(([text, works]) => {
    const heads = works.flatMap(({ title, notices }) => [title, ...notices.map((notice) => `  ${notice}`)])
    return `${'='.repeat(78)}\n${heads.join('\n')}\n\n${text}\n`
  })
  const intro = 'The bundle contains, as a whole or in part, the following works, under their licences.'
  return `${intro}\n\n${list.join('\n')}\n\n${texts.join('\n')}`
}
