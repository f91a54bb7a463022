import { findUserFile } from '../../../config/find-config-file.ts'
import { findKey, locateKey, profileExists } from '../../../config/key.ts'
import { resolveSettings, type Settings } from '../../../config/settings.ts'
import { settingTable } from '../../../config/setting-table.ts'
import type { Context } from '../../../context.ts'
import { objectOf } from '../../../json.ts'
import type { CommonOptions } from './common-options.ts'

/**
 * What is configured for the profile that is set up, without the flags that are answers, and without a project file:
 * what is written is the user's own. A profile that does not exist yet has what every profile has.
 * @throws ConfigError listing everything that is wrong
 */
export async function ownSettings(context: Context, options: CommonOptions): Promise<Settings> {
  const { caFile, header, allowHttp, connectTimeout, timeout, quiet } = options
  const written = objectOf((await findUserFile(context))?.content)
  const chosen = options.profile ?? (context.env[settingTable.profile.env!] || written['profile'])
  const name = typeof chosen === 'string' ? chosen : settingTable.profile.default
  const isThere =
    name.trim() === '' ||
    name === settingTable.profile.default ||
    Object.hasOwn(objectOf(written['profiles']), name) ||
    (await profileExists(context, name))
  const profile = isThere ? name : settingTable.profile.default
  const settings = await resolveSettings(
    context,
    { profile, caFile, header, allowHttp, connectTimeout, timeout, quiet },
    { withProject: false },
  )
  const own = { ...settings, profile: { ...settings.profile, value: name } }
  return { ...own, apiKey: () => findKey(context, own), keyLocation: () => locateKey(context, own) }
}
