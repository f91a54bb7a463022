import { credentialsPath, findKey } from '../../config/key.ts'
import { absolutePath, pathToWrite } from '../../config/layers.ts'
import { UsageError } from '../../errors.ts'
import { readStandardInputBytes } from '../shared/input/standard-input.ts'
import type { KeyAnswer, KeyReader } from './ask-gateway.ts'
import type { Session } from './session.ts'

/**
 * Where nobody can be asked, what has no answer yet is an error.
 * @throws UsageError naming each flag
 */
export async function refuseMissing({ options, settings }: Session): Promise<void> {
  const hasKey =
    options.yes || options.apiKeyFile !== undefined || (await settings.keyLocation()) !== undefined
  const missing = [
    ...(options.baseUrl === undefined && settings.baseUrl.value === undefined
      ? ['The address of the gateway is missing: pass --base-url URL.']
      : []),
    ...(hasKey
      ? []
      : ['The key is missing: pass --api-key-file FILE, or - to store the one on standard input.']),
  ]
  if (missing.length === 0) return
  throw new UsageError(missing, {
    code: 'answers_missing',
    hint: hasKey
      ? 'On a terminal, modelgate init asks for it.'
      : 'On a terminal, modelgate init asks for it. With --yes the key may be left to MODELGATE_API_KEY.',
  })
}

/** The key as `--api-key-file` gives it, or as it is where nobody can be asked; undefined: to be asked for. */
export async function givenKey(
  { context, options, asks }: Session,
  reader: KeyReader,
): Promise<KeyAnswer | undefined> {
  const { apiKeyFile: path } = options
  if (path === undefined)
    return asks ? undefined : { kind: reader.present === undefined ? 'later' : 'as it is' }
  if (path !== '-') return { kind: 'file', text: pathToWrite(context, path) }
  if (context.stdin.kind === 'terminal') {
    throw new UsageError('--api-key-file - reads standard input, which is a terminal.', {
      hint: 'Leave it out: the key is asked for, and not shown.',
    })
  }
  const bytes = await readStandardInputBytes(context, '--api-key-file -')
  return { kind: 'store', value: new TextDecoder().decode(bytes).trim() }
}

/** Reads keys as they would be read by later calls. */
export async function keyReader({ context, settings }: Session): Promise<KeyReader> {
  const location = await settings.keyLocation()
  const from = (values: { readonly file?: string; readonly command?: string }) => {
    const { apiKeyFile, apiKeyCommand } = settings
    const asFlag = { level: 'flag', source: 'as given' } as const
    return findKey(context, {
      ...settings,
      apiKeyFile:
        values.file === undefined ? { ...apiKeyFile, value: undefined } : { ...asFlag, value: values.file },
      apiKeyCommand: { ...(values.command === undefined ? apiKeyCommand : asFlag), value: values.command },
    })
  }
  return {
    present: location?.source,
    store: credentialsPath(context) ?? 'the credentials file',
    async read(answer) {
      switch (answer.kind) {
        case 'store':
          return answer.value
        case 'file':
          return (await from({ file: absolutePath(context, context.cwd, answer.text) })).value
        case 'command':
          return (await from({ command: answer.text })).value
        case 'as it is':
          return (await settings.apiKey()).value
        case 'later':
          return undefined
      }
    },
  }
}
