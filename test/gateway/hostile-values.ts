import * as fc from 'fast-check'

/** Names that reach the prototype of a careless program, or mean something to a decoder. */
const names = [
  '__proto__ constructor prototype toString length',
  'candidates content parts text index finishReason functionCall name partialArgs jsonPath stringValue',
  'numberValue usageMetadata promptFeedback blockReason inlineData citationMetadata citations groundingMetadata',
  'error type object response output output_index item delta status summary annotations annotation message',
  'details id task_id state done progress data metadata video url fail_reason',
].flatMap((line) => line.split(' '))

const words = [
  'STOP $.a.length $.a[0] $.__proto__.polluted $ __proto__ error message reasoning function_call',
  'response.output_text.delta response.output_item.done response.output_item.added response.completed',
  'response.failed response.created response.function_call_arguments.delta',
  'response.output_text.annotation.added response output_text completed FAILED running 45%',
  'https://cdn.test/a.mp4 models/m/operations/o',
].flatMap((line) => line.split(' '))

/** Values that are JSON and look a little like replies, with anything anywhere: null, wrong types, absent fields. */
export const hostileValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, -1, 1e9, '', '0', ...words),
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom(...names), tie('value')), { maxLength: 6 })
    // As JSON.parse makes them: `__proto__` is a field of its own.
    .map((entries) =>
      entries.reduce<object>(
        (object, [name, value]) =>
          Object.defineProperty(object, name, { value, enumerable: true, configurable: true }),
        {},
      ),
    ),
})).value

/** What a test that feeds hostile values compares afterwards: nothing may have been added to the prototypes. */
export function prototypes(): readonly (readonly PropertyKey[])[] {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype].map((prototype) =>
    Reflect.ownKeys(prototype),
  )
}
