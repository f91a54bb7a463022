import { readFileSync } from 'node:fs'

/** A work that the bundle contains, and what its licence asks to be stated. */
export interface Work {
  /** Name and version. */
  readonly title: string
  /** An SPDX expression. */
  readonly license: string
  /** Copyright lines and acknowledgements that are not in the text. */
  readonly notices: readonly string[]
  /** The whole text of its licence, or where it is found in the document. */
  readonly text: string
}

/** Of the MIT licence, without the copyright lines: our own file has it. */
export const mitText = /^Permission is hereby granted[^]*/m
  .exec(readFileSync(new URL('../LICENSE', import.meta.url), 'utf8'))![0]
  .trim()

const mit = (title: string, ...notices: string[]): Work => ({ title, license: 'MIT', notices, text: mitText })

const emscripten = [
  mit('Emscripten', 'Copyright (c) 2010-2014 Emscripten authors'),
  mit('musl', 'Copyright (c) 2005-2020 Rich Felker, et al.'),
]

/** What a package contains of other works. */
export function worksIn(name: string, version: string): readonly Work[] {
  return compiledWorks[name] ?? compiledWorks[`${name} ${version}`] ?? []
}

/**
 * What packages contain of other works, as compiled or copied code, without a licence file of those.
 * By name, or by name and version where a new version may well contain others.
 */
const compiledWorks: Readonly<Record<string, readonly Work[]>> = {
  '@jsquash/jpeg 1.6.0': [
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
  '@jsquash/png 3.1.1': [
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
  '@jsquash/webp 1.5.0': [
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
