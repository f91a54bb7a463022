import { flag, list, number, object, text, whole, type Endpoint, type Fields } from './field.ts'

/** Harm categories and thresholds in public use; the specification leaves them open (wire notes, section 1). */
const harmCategories = [
  'HARM_CATEGORY_HARASSMENT',
  'HARM_CATEGORY_HATE_SPEECH',
  'HARM_CATEGORY_SEXUALLY_EXPLICIT',
  'HARM_CATEGORY_DANGEROUS_CONTENT',
  'HARM_CATEGORY_CIVIC_INTEGRITY',
] as const

const harmThresholds = [
  'BLOCK_LOW_AND_ABOVE',
  'BLOCK_MEDIUM_AND_ABOVE',
  'BLOCK_ONLY_HIGH',
  'BLOCK_NONE',
  'OFF',
] as const

/** Inner fields of `generationConfig` (public practice; the specification shows none). */
const generationConfigFields: Fields = {
  temperature: number('randomness of the answer', { min: 0, max: 2 }),
  topP: number('nucleus sampling: share of probability kept', { min: 0, max: 1 }),
  topK: whole('number of tokens considered at each step', { min: 1 }),
  maxOutputTokens: whole('upper bound of tokens in an answer', { min: 1 }),
  stopSequences: list(
    'texts that end the answer (up to 5)',
    text('text that ends the answer', { minLength: 1 }),
    { maxLength: 5 },
  ),
  candidateCount: whole('how many answers to generate', { min: 1, max: 8 }),
  seed: whole('seed for repeatable answers'),
  responseMimeType: text('media type of the answer', {
    known: ['text/plain', 'application/json', 'text/x.enum'],
  }),
  responseSchema: object('schema of the answer (OpenAPI subset)'),
  responseJsonSchema: object('schema of the answer (JSON Schema)'),
  presencePenalty: number('penalty for tokens already used', { min: -2, max: 2 }),
  frequencyPenalty: number('penalty that grows with each use of a token', { min: -2, max: 2 }),
  responseLogprobs: flag('return log probabilities'),
  logprobs: whole('how many log probabilities per token', { min: 0, max: 20 }),
  responseModalities: list(
    'kinds of answer wanted',
    text('kind of answer', { known: ['TEXT', 'IMAGE', 'AUDIO'] }),
  ),
  thinkingConfig: object('thinking configuration', {
    includeThoughts: flag('return summaries of the thoughts'),
    thinkingBudget: whole('tokens for thinking (0 off, -1 the model decides)', { min: -1 }),
    thinkingLevel: text('how much to think', { known: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] }),
  }),
  imageConfig: object('configuration of generated images', {
    aspectRatio: text('aspect ratio of images, such as 16:9'),
    imageSize: text('size of images, such as 1K'),
  }),
  speechConfig: object('voice configuration of spoken answers'),
  mediaResolution: text('resolution at which media input is read', {
    known: ['MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_MEDIUM', 'MEDIA_RESOLUTION_HIGH'],
  }),
}

/** An item of `contents`, and `systemInstruction`: parts are required (specification, endpoint 1). */
const contentFields: Fields = {
  role: text('who speaks', { flag: false, known: ['user', 'model'] }),
  parts: list('the parts of the message', object('a part', { text: text('text') }), {
    required: true,
    minLength: 1,
    flag: false,
  }),
}

/** Endpoint 1 of the specification: streaming content generation. */
export const generateContentEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1beta/models/{model}:streamGenerateContent',
  envelope: 'google',
  fields: {
    contents: list('conversation history', object('a message', contentFields), {
      required: true,
      minLength: 1,
    }),
    tools: list('tools available', object('a tool')),
    toolConfig: object('tool configuration', {
      functionCallingConfig: object(
        'when functions are called',
        {
          mode: text('when functions are called', {
            flag: 'function-calling-mode',
            known: ['AUTO', 'ANY', 'NONE', 'VALIDATED'],
          }),
          allowedFunctionNames: list('functions that may be called', text('a function name')),
        },
        { flag: false },
      ),
    }),
    safetySettings: list(
      'safety settings',
      object('a safety setting', {
        category: text('harm category', { required: true, known: harmCategories }),
        threshold: text('block threshold', { required: true, known: harmThresholds }),
      }),
    ),
    systemInstruction: object('system instruction', contentFields),
    generationConfig: object('generation parameters', generationConfigFields),
  },
  rules: [],
}
