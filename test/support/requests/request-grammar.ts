/** Nearly valid requests: made of values that are valid now, in the shape that a route expects, and then broken in some part. */

export interface Route {
  readonly methods: readonly string[];
  readonly path: string;
}

/** Values that are valid now, by the name of their parameter. */
export interface Material {
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Values of the headers `Authorization` and `Cookie`. */
  readonly authorization: readonly string[];
  readonly cookies: readonly string[];
}

export interface FuzzRequest {
  readonly lines: readonly string[];
  readonly body: string;
}

/** Returns a generator of numbers from 0 up to 1: Mulberry32. The same seed gives the same numbers. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Parameters that belong together, by pattern of the path. */
const shapes: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /authorize|par$|ciba|device/,
    [
      'client_id response_type redirect_uri scope state nonce code_challenge code_challenge_method',
      'client_id request_uri',
      'client_id request',
      'client_id request request_uri',
      'client_id response_type redirect_uri scope code_challenge code_challenge_method prompt max_age acr_values ui_locales login_hint',
      'client_id response_type redirect_uri scope response_mode code_challenge code_challenge_method id_token_hint claims custom cart',
      'client_id scope login_hint login_hint_token binding_message requested_expiry client_assertion client_assertion_type',
    ],
  ],
  [
    /token$/,
    [
      'grant_type code redirect_uri code_verifier',
      'grant_type refresh_token scope',
      'grant_type scope client_id client_secret',
      'grant_type client_assertion client_assertion_type scope',
      'grant_type auth_req_id client_id client_secret',
    ],
  ],
  [/introspect|revo/, ['token token_type_hint', 'token client_id client_secret', 'sub scope tid', 'sub scope tid client_id client_secret']],
  [/endsession|logout/, ['id_token_hint post_logout_redirect_uri state client_id', 'xsrf logout', 'logout_hint ui_locales']],
  [/interaction|idp/, ['csrf identifier', 'csrf identifier password', 'csrf oid', 'csrf identifier password oid', 'restart locale']],
  [/./, ['access_token', 'client_id', 'token scope sub']],
];

const numbers = ['0', '-1', '1e9', '9007199254740993', 'NaN', '1.5', '0x10'];
/** Values that may make some program fail. */
const hostile = [
  '',
  ' ',
  '\0',
  '%',
  '%zz',
  '\r\nSet-Cookie: a=b',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  '[object Object]',
  '{"$ne":null}',
  '["a","b"]',
  'null',
  'undefined',
  'true',
  '<script>alert(1)</script>',
  '\u202e\u0000\ud7ff',
  '😀'.repeat(20),
  'é',
  'javascript:alert(1)',
  'http://[::1',
  'https://user:pw@evil.example/%2e%2e',
  'urn:ietf:params:oauth:request_uri:',
  'urn:ietf:params:oauth:request_uri:x',
  'https://127.0.0.1/request.jwt',
  'a.b.c',
  'eyJhbGciOiJub25lIn0.e30.',
  'eyJhbGciOiJub25lIn0.bnVsbA.',
  'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.W10.AAAA',
  '..',
  '.....',
  '-----BEGIN',
  'x'.repeat(300),
  'x'.repeat(5000),
  'A'.repeat(44),
  ...numbers,
];
const oddNames = [
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '__custom',
  'iss',
  'error',
  'a[b]',
  'a[]',
  '$where',
  '',
  ' ',
  '\0',
  '%00',
  'x'.repeat(500),
];
const contentTypes = [
  'application/json',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded; charset=utf-7',
  'application/x-www-form-urlencoded; charset="utf-8"',
  'application/jwt',
  ';',
  'x',
];
const headers: Readonly<Record<string, readonly string[]>> = {
  Accept: ['text/html', 'application/json', '*/*;q=x', 'application/token-introspection+jwt', 'image/png', ''],
  'Accept-Language': ['nb', '*', 'x;q=9', '-'.repeat(200)],
  Origin: ['null', 'http://127.0.0.1:9', 'https://evil.example', '\u00ff'],
  Referer: ['https://evil.example/', '%'],
  'Sec-Fetch-Site': ['same-origin', 'cross-site', 'x'],
  'If-None-Match': ['*', '"x"', 'W/', '"'],
  DPoP: ['a.b.c', 'x'],
  'X-Forwarded-For': ['1.2.3.4, x', '\u0001'],
  'X-Forwarded-Proto': ['https', 'x'],
  'Content-Encoding': ['gzip', 'identity', 'x'],
  'Cookie ': ['x'],
  Range: ['bytes=0-1'],
  'X-HTTP-Method-Override': ['DELETE'],
  'OAuth-Client-Attestation': ['a.b.c'],
};
const anyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

/** Texts that are allowed in a segment of a path, and not in a header or in the path of a cookie. */
const hostileSegments = [
  'x;y',
  ';',
  'x;path=/',
  ',',
  'x%3By',
  '%0d%0aSet-Cookie:%20a=b',
  '%ff',
  '%',
  '%2f',
  '%5c',
  '.',
  '..;',
  '%2e%2e',
  '@',
  ':uid',
  '*',
  '(.*)',
  '"',
  "'",
  '=',
  '&',
  '+',
  '%00',
  '%F0%9F%98%80',
  '\u00e9',
];
/** Queries with which a page does everything that the page can do at that path. */
const pageQueries = [
  'ui_locales=de',
  'ui_locales=nb%20en',
  `ui_locales=${'x'.repeat(99)}%F0%9F%98%80`,
  'restart=yes',
  'ui_locales=%3B&restart=',
];

/** Encodes a text. Half a character is replaced first, because `encodeURIComponent` refuses half a character. */
const escaped = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

/** Returns a generator of requests to the routes, made of valid values. The same seed and material give the same requests. */
export function createGrammar(routes: readonly Route[], seed: number) {
  const random = randomFrom(seed);
  const chance = (probability: number) => random() < probability;
  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;

  const broken = (value: string): string => {
    const at = below(value.length + 1);
    return pick([
      () => pick(hostile),
      () => value.slice(0, at),
      () => value.slice(0, at) + pick(hostile) + value.slice(at),
      () => `${value} ${value}`,
      () => value.toUpperCase(),
      () => value + pick(hostile),
      () => [...value].reverse().join(''),
    ])();
  };

  function parametersFor(path: string, { values }: Material): [string, string][] {
    const all = Object.keys(values);
    const [, templates] =
      pick(shapes.filter(([pattern], index) => pattern.test(path) && (index < shapes.length - 1 || chance(0.1)))) ?? shapes.at(-1);
    const names = pick(templates).split(' ');
    const pairs = names.map((name): [string, string] => [name, pick(values[name] ?? hostile)]);
    while (chance(0.25)) pairs.push([pick(all), pick(pick(Object.values(values)))]);
    if (chance(0.3)) return pairs;
    const replace = (index: number, name: string, value: string) => void pairs.splice(index, 1, [name, value]);
    for (let count = 1 + below(3); count > 0; count -= 1) {
      const index = below(pairs.length);
      const pair = pairs[index];
      if (!pair) break;
      pick([
        () => void pairs.splice(index, 1),
        () => void pairs.push([...pair]),
        () => replace(index, pair[0], broken(pair[1])),
        () => replace(index, pair[0], broken(pair[1])),
        () => replace(index, pair[0], pick(pick(Object.values(values)))),
        () => replace(index, pick([`${pair[0]}[]`, `${pair[0]}[$ne]`, pair[0].toUpperCase(), pick(oddNames)]), pair[1]),
        () => void pairs.push([pick(oddNames), pick(hostile)]),
        () => void pairs.push(...Array.from({ length: below(60) }, (_, each): [string, string] => [`p${each}`, pick(hostile)])),
      ])();
    }
    return pairs;
  }

  const encoded = (pairs: readonly (readonly [string, string])[]): string => {
    const text = pairs.map((pair) => pair.map((part) => escaped(part)).join('=')).join('&');
    const at = below(text.length + 1);
    return chance(0.05) ? text.slice(0, at) + pick(['%', '%zz', '&&', '=', '#', '?', '+', '%E0%A4%A', ';']) + text.slice(at) : text;
  };

  const pathOf = ({ path }: Route, { values }: Material): string => {
    const filled = path.replace(/:(\w+)/g, (_, name: string) => {
      if (chance(0.4) && values[name]) return pick(values[name] as readonly string[]);
      if (chance(0.5)) return pick(['', ...(values[name] ?? [])]) + pick(hostileSegments) + pick(['', 'y']);
      return escaped(pick(hostile)).slice(0, 2000) || 'x';
    });
    if (chance(0.9)) return filled;
    const at = below(filled.length + 1);
    const around = [
      `${filled}/`,
      `/${filled}`,
      filled.toUpperCase(),
      `${filled}%00`,
      `${filled}/..`,
      `${filled}//x`,
      `http://evil.example${filled}`,
    ];
    return pick([...around, filled.slice(0, at) + pick(hostileSegments) + filled.slice(at), filled + pick(hostileSegments)]);
  };

  const bodyOf = (pairs: readonly (readonly [string, string])[]): { readonly type: string; readonly body: string } => {
    const type = 'application/x-www-form-urlencoded';
    if (chance(0.9)) return { type, body: encoded(pairs) };
    return {
      type: pick(contentTypes),
      body: pick([encoded(pairs), JSON.stringify(Object.fromEntries(pairs)), 'x'.repeat(60_000), '{', '--x\r\n\r\n']),
    };
  };

  return (material: Material): FuzzRequest => {
    const route = pick(routes);
    const method = chance(0.9) ? pick(route.methods) : pick(anyMethod);
    const path = pathOf(route, material);
    const pairs = parametersFor(route.path, material);
    const inBody = method !== 'GET' && method !== 'HEAD' ? chance(0.95) : chance(0.03);
    const { type, body } = inBody ? bodyOf(pairs) : { type: '', body: '' };
    const asked = inBody ? (chance(0.1) ? encoded(parametersFor(route.path, material)) : '') : encoded(pairs);
    const query = route.path.includes(':') && chance(0.3) ? pick(pageQueries) : asked;
    const lines = [`${method} ${path}${query ? `?${query}` : ''} HTTP/1.1`, 'Host: 127.0.0.1'];
    if (type) lines.push(`Content-Type: ${type}`);
    const header = (name: string, values: readonly string[], probability: number) => {
      if (!chance(probability)) return;
      const value = pick(values);
      lines.push(`${name}: ${(chance(0.1) ? broken(value) : value).replace(/[\0\r\n]/g, '').slice(0, 8000)}`);
    };
    header('Authorization', material.authorization, 0.5);
    header('Cookie', material.cookies, 0.5);
    for (const [name, values] of Object.entries(headers)) header(name.trim(), values, 0.08);
    return { lines, body };
  };
}
