/** Cookies of one origin, as a browser keeps them: by name and path. */
export class Cookies {
  readonly all = new Map<string, { readonly value: string; readonly path: string }>();

  /** Keeps or removes what a `Set-Cookie` header says. */
  keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', ...value] = pair.split('=');
    const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/';
    const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
    const key = `${name} ${path}`;
    if (expires && new Date(expires).getTime() <= Date.now()) this.all.delete(key);
    else this.all.set(key, { value: value.join('='), path });
  }

  /** Returns the `Cookie` header of a request; undefined without cookies. @see RFC 6265 §5.4 */
  headerFor(url: string): string | undefined {
    const { pathname } = new URL(url);
    const sent = [...this.all]
      .filter(([, { path }]) => pathname.startsWith(path))
      .sort(([, one], [, other]) => other.path.length - one.path.length)
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
    return sent.length > 0 ? sent.join('; ') : undefined;
  }
}
