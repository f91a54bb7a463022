// undici ships types for its whole; this is the one module of it that every request needs.
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  export default Client
}

declare module 'undici/lib/dispatcher/env-http-proxy-agent.js' {
  import { EnvHttpProxyAgent } from 'undici'
  export default EnvHttpProxyAgent
}

declare module 'undici/lib/core/symbols.js' {
  const symbols: { readonly kParser: symbol }
  export default symbols
}

declare module 'undici/lib/api/api-connect.js' {
  import type { Client } from 'undici'
  const connect: Client['connect']
  export default connect
}
