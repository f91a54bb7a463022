/** As far as it is known before the request is sent. */
export interface Creation {
  /** As asked; null when the gateway chooses. */
  readonly model: string | null
  /** Of what is counted. */
  readonly count: number
  readonly of: 'text' | 'image' | 'video'
  /** For a text: what is sent, and the tokens that the answer may have, if that is limited. */
  readonly body?: unknown
  readonly maxOutputTokens?: number | null
  readonly variant?: Variant
  /** For videos, of each. */
  readonly seconds?: number | null
}

/** Null where nothing was asked for. */
export interface Variant {
  /** `1024x1024`, `720p`. */
  readonly size: string | null
  /** `low`, `high`. */
  readonly quality: string | null
}
