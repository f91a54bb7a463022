/** The version of package.json, put in by the build and by the tests' configuration. */
declare const __VERSION__: string
