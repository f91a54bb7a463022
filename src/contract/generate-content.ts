import type { Endpoint, Fields } from './field.ts'

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
  temperature: { type: 'number', min: 0, max: 2, about: 'randomness of the answer' },
  topP: { type: 'number', min: 0, max: 1, about: 'nucleus sampling: share of probability kept' },
  topK: { type: 'integer', min: 1, about: 'number of tokens considered at each step' },
  maxOutputTokens: { type: 'integer', min: 1, about: 'upper bound of tokens in an answer' },
  stopSequences: {
    type: 'array',
    items: { type: 'string', minLength: 1, about: 'text that ends the answer' },
    maxLength: 5,
    about: 'texts that end the answer (up to 5)',
  },
  candidateCount: { type: 'integer', min: 1, max: 8, about: 'how many answers to generate' },
  seed: { type: 'integer', about: 'seed for repeatable answers' },
  responseMimeType: {
    type: 'string',
    known: ['text/plain', 'application/json', 'text/x.enum'],
    about: 'media type of the answer',
  },
  responseSchema: { type: 'object', about: 'schema of the answer (OpenAPI subset)' },
  responseJsonSchema: { type: 'object', about: 'schema of the answer (JSON Schema)' },
  presencePenalty: { type: 'number', min: -2, max: 2, about: 'penalty for tokens already used' },
  frequencyPenalty: { type: 'number', min: -2, max: 2, about: 'penalty that grows with each use of a token' },
  responseLogprobs: { type: 'boolean', about: 'return log probabilities' },
  logprobs: { type: 'integer', min: 0, max: 20, about: 'how many log probabilities per token' },
  responseModalities: {
    type: 'array',
    items: { type: 'string', known: ['TEXT', 'IMAGE', 'AUDIO'], about: 'kind of answer' },
    about: 'kinds of answer wanted',
  },
  thinkingConfig: {
    type: 'object',
    about: 'thinking configuration',
    fields: {
      includeThoughts: { type: 'boolean', about: 'return summaries of the thoughts' },
      thinkingBudget: {
        type: 'integer',
        min: -1,
        about: 'tokens for thinking (0 off, -1 the model decides)',
      },
      thinkingLevel: {
        type: 'string',
        known: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
        about: 'how much to think',
      },
    },
  },
  imageConfig: {
    type: 'object',
    about: 'configuration of generated images',
    fields: {
      aspectRatio: { type: 'string', about: 'aspect ratio of images, such as 16:9' },
      imageSize: { type: 'string', about: 'size of images, such as 1K' },
    },
  },
  speechConfig: { type: 'object', about: 'voice configuration of spoken answers' },
  mediaResolution: {
    type: 'string',
    known: ['MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_MEDIUM', 'MEDIA_RESOLUTION_HIGH'],
    about: 'resolution at which media input is read',
  },
}

/** An item of `contents`, and `systemInstruction`: parts are required (specification, endpoint 1). */
const contentFields: Fields = {
  role: { type: 'string', flag: false, known: ['user', 'model'], about: 'who speaks' },
  parts: {
    type: 'array',
    required: true,
    minLength: 1,
    flag: false,
    items: { type: 'object', about: 'a part', fields: { text: { type: 'string', about: 'text' } } },
    about: 'the parts of the message',
  },
}

/** Endpoint 1 of the specification: streaming content generation. */
export const generateContentEndpoint: Endpoint = {
  method: 'POST',
  path: '/v1beta/models/{model}:streamGenerateContent',
  envelope: 'google',
  fields: {
    contents: {
      type: 'array',
      required: true,
      minLength: 1,
      items: { type: 'object', about: 'a message', fields: contentFields },
      about: 'conversation history',
    },
    tools: { type: 'array', items: { type: 'object', about: 'a tool' }, about: 'tools available' },
    toolConfig: {
      type: 'object',
      about: 'tool configuration',
      fields: {
        functionCallingConfig: {
          type: 'object',
          flag: false,
          about: 'when functions are called',
          fields: {
            mode: {
              type: 'string',
              flag: 'function-calling-mode',
              known: ['AUTO', 'ANY', 'NONE', 'VALIDATED'],
              about: 'when functions are called',
            },
            allowedFunctionNames: {
              type: 'array',
              items: { type: 'string', about: 'a function name' },
              about: 'functions that may be called',
            },
          },
        },
      },
    },
    safetySettings: {
      type: 'array',
      about: 'safety settings',
      items: {
        type: 'object',
        about: 'a safety setting',
        fields: {
          category: { type: 'string', required: true, known: harmCategories, about: 'harm category' },
          threshold: { type: 'string', required: true, known: harmThresholds, about: 'block threshold' },
        },
      },
    },
    systemInstruction: { type: 'object', about: 'system instruction', fields: contentFields },
    generationConfig: { type: 'object', about: 'generation parameters', fields: generationConfigFields },
  },
  rules: [],
}
