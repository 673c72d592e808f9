/** Forms that go through either door: the first content type is answered without oidc-provider, the second by it. */
export const plainType = 'application/x-www-form-urlencoded';
export const unusualType = `${plainType}; charset="utf-8"`;
export const formTypes = [plainType, unusualType] as const;

const headersCompared = [
  'content-type',
  'cache-control',
  'pragma',
  'vary',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'www-authenticate',
];

/** What a caller sees of an answer, to be compared with that of the other door. */
export async function answerOf(url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: headersCompared.map((name) => response.headers.get(name)),
    body: text.startsWith('{') ? JSON.parse(text) : text,
  };
}
