/** The version in package.json, inserted by the build and the test configuration. */
declare const __VERSION__: string
