import type { CosmiconfigResult, Options } from 'cosmiconfig'
import { parseJson } from './parse-json.ts'
import { parseYaml } from './parse-yaml.ts'
import { configError } from './problem.ts'
import { isMapping } from './setting-kind.ts'

/** A configuration file as it was read; `content` is not checked yet. */
export interface ConfigFile {
  readonly path: string
  readonly text: string
  readonly content: unknown
}

type ExplorerClass = new (
  options: Options & { readonly metaConfigFilePath: null; readonly moduleName: string },
) => {
  search(from: string): Promise<CosmiconfigResult>
}

/**
 * The first of `places` in `folder` that holds anything, read as data.
 *
 * cosmiconfig's public functions first look for a "meta configuration" in the working directory and run a
 * `.config/config.js` found there, whatever options are given. Its explorer alone does no such thing.
 *
 * @throws UsageError naming file, line and column when a file is not valid JSON or YAML
 */
export async function readFirst(folder: string, places: readonly string[]): Promise<ConfigFile | undefined> {
  const module: unknown = await import('cosmiconfig/dist/Explorer.js')
  const { Explorer } = module as { Explorer: ExplorerClass }
  const texts = new Map<string, string>()
  const reading =
    (parse: (file: string, text: string) => unknown) => async (file: string, content: string) => {
      const text = content.replace(/^\uFEFF/, '')
      texts.set(file, text)
      return refuseImport(file, await parse(file, text))
    }
  const explorer = new Explorer({
    moduleName: packageKey,
    packageProp: packageKey,
    searchPlaces: [...places],
    searchStrategy: 'none',
    ignoreEmptySearchPlaces: true,
    metaConfigFilePath: null,
    mergeImportArrays: false,
    mergeSearchPlaces: false,
    cache: false,
    transform: (result) => result,
    loaders: {
      '.json': reading((file, text) => parseJson(file, text, isPackage(file) ? packageSection : undefined)),
      '.yaml': reading(parseYaml),
      '.yml': reading(parseYaml),
      noExt: reading((file, text) =>
        /^\s*\{\s*["}]/.test(text) ? parseJson(file, text) : parseYaml(file, text),
      ),
    },
  })
  const found = await explorer.search(folder)
  if (found === null) return undefined
  return { path: found.filepath, text: texts.get(found.filepath) ?? '', content: found.config as unknown }
}

/** The key of package.json that holds a project's settings. */
export const packageKey = 'modelgate'

/** The settings inside a package.json, or undefined. */
export function packageSection(document: unknown): unknown {
  return isMapping(document) && Object.hasOwn(document, packageKey) ? document[packageKey] : undefined
}

function isPackage(file: string): boolean {
  return /[\\/]package\.json$/.test(file)
}

/** cosmiconfig would read the files that a `$import` names, from anywhere on the disk. */
function refuseImport(file: string, document: unknown): unknown {
  const settings = isPackage(file) ? packageSection(document) : document
  if (isMapping(settings) && Object.hasOwn(settings, '$import')) {
    throw configError(`${file}: "$import" is not supported: a configuration file stands alone.`)
  }
  return document
}
