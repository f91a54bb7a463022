/** The names by which fault rules and counts know the sandbox's endpoints. */
export const endpointNames = [
  'generate-content',
  'responses',
  'response-lookup',
  'models',
  'image-generations',
  'image-edits',
  'image-files',
  'video-operations',
  'operation-lookup',
  'video-create',
  'video-remix',
  'video-lookup',
  'video-content',
  'video-files',
] as const
export type EndpointName = (typeof endpointNames)[number]
