export { isObject, objectOf, stringOf } from '../json.ts'
