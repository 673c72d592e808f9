/** Cookies of one origin, as a browser keeps them: by name and path. */
export type Cookies = Map<string, { readonly value: string; readonly path: string }>;

/** Keeps or removes the cookie of a `Set-Cookie` header. */
export function keepCookie(cookies: Cookies, line: string): void {
  const [pair = '', ...attributes] = line.split('; ');
  const [name = '', ...value] = pair.split('=');
  const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
  const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
  const key = `${name} ${path}`;
  if (expires && new Date(expires).getTime() <= Date.now()) cookies.delete(key);
  else cookies.set(key, { value: value.join('='), path });
}

/** Returns the `Cookie` header of a request; undefined without cookies. @see RFC 6265 §5.4 */
export function cookieHeader(cookies: Cookies, url: string): string | undefined {
  const { pathname } = new URL(url);
  const sent = [...cookies]
    .filter(([, { path }]) => pathname.startsWith(path))
    .sort(([, one], [, other]) => other.path.length - one.path.length)
    .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
  return sent.length > 0 ? sent.join('; ') : undefined;
}
