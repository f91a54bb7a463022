/** What the command line says. Times are in seconds; numbers may still be text. */
export interface SettingFlags {
  readonly profile?: string | undefined
  readonly baseUrl?: string | undefined
  readonly apiKeyFile?: string | undefined
  /** The model of this command, whatever its kind. */
  readonly model?: string | undefined
  readonly timeout?: string | number | undefined
  readonly connectTimeout?: string | number | undefined
  readonly firstByteTimeout?: string | number | undefined
  readonly idleTimeout?: string | number | undefined
  readonly progressTimeout?: string | number | undefined
  readonly pollInterval?: string | number | undefined
  readonly maxRetries?: string | number | undefined
  readonly retry?: string | undefined
  readonly caFile?: string | undefined
  readonly allowHttp?: boolean | undefined
  readonly outputDir?: string | undefined
  readonly quiet?: boolean | undefined
  readonly noStdin?: boolean | undefined
  /** The built-in gateway is used: then no base URL is, and none is checked. */
  readonly sandbox?: boolean | undefined
}
