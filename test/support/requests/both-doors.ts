/** Content types of forms for both doors: the service answers the first without oidc-provider, and the second with oidc-provider. */
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

/** Returns the visible parts of an answer, for comparison with the answer at the other door. */
export async function answerOf(url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: headersCompared.map((name) => response.headers.get(name)),
    body: text.startsWith('{') ? JSON.parse(text) : text,
  };
}
