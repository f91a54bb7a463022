interface KeyForm {
  readonly what: string
  /** One of these is in every such key: looking for them first is many times faster. */
  readonly marks: readonly string[]
  /** Nothing may precede a key that could be base64: long base64 contains anything. */
  readonly form: RegExp
}

const keyForms: readonly KeyForm[] = [
  { what: 'a key (sk-…)', marks: ['sk-'], form: /(?<![\w+/-])sk-(?=[\w-]{0,200}\d)[\w-]{20}/ },
  { what: 'a key (AIza…)', marks: ['AIza'], form: /(?<![\w+/-])AIza[\w-]{35}(?![\w+/-])/ },
  { what: 'an access token (ya29.…)', marks: ['ya29.'], form: /(?<![\w+/-])ya29\.[\w-]{20}/ },
  { what: 'a bearer token', marks: ['earer', 'EARER'], form: /\bBearer\s{1,8}[\w.~+/-]{20}/i },
  { what: 'a key (AKIA…)', marks: ['AKIA', 'ASIA'], form: /(?<![\w+/])A[KS]IA[0-9A-Z]{16}(?![\w+/])/ },
  {
    what: 'a token (ghp_…)',
    marks: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    form: /(?<![\w+/])gh[pousr]_\w{36}/,
  },
  {
    what: 'a JSON Web Token',
    marks: ['.eyJ'],
    form: /(?<![\w+/-])eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10}/,
  },
  {
    what: 'a signed URL',
    marks: ['sig=', 'ignature='],
    form: /[?&](?:sig|signature|x-amz-signature|x-goog-signature)=[\w%+/-]{20}/i,
  },
  { what: 'a private key', marks: ['PRIVATE KEY'], form: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/ },
]

/** What looks like a key, in words. */
export function keyFormIn(text: string): string | undefined {
  const isIn = ({ marks, form }: KeyForm) => marks.some((mark) => text.includes(mark)) && form.test(text)
  return keyForms.find(isIn)?.what
}
