/** The version in package.json, inserted by the build and the test configuration. */
declare const __VERSION__: string

/** The page of `modelgate --help` as JSON, inserted by the build alone. */
declare const __HELP_PAGE__: string | undefined

/** What can be completed, as JSON, inserted by the build into the code that answers a TAB. */
declare const __COMPLETED_COMMANDS__: string
