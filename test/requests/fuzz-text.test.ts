/**
 * Texts and client authentication in unusual forms, over the real parsers: characters of Unicode's bad sets, broken encodings, duplicate
 * and empty parameters. Each answer is documented, and none is an internal error. A client authenticates only by its own secret, and no
 * text is stored that its kind refuses. `FUZZ_SEED=<number>` repeats a run.
 */
import { randomInt } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { textProblem } from '../../lib/text/kinds.js';
import { administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { type RawAnswer, rawRequest } from '../support/client/raw-request.js';
import { randomFrom } from '../support/requests/request-grammar.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const REQUESTS = process.env.PROVE ? 20_000 : 1_000;
const SEED = Number(process.env.FUZZ_SEED ?? (process.env.PROVE ? randomInt(2 ** 31) : 40_717));
const AT_ONCE = 8;

/** Clients whose ids and secrets are hard to write. */
const machines: Readonly<Record<string, string>> = {
  service: 'service-secret',
  'a:b+c%d': 'p:q r+s%t&u=v',
  'x%3Ay': '%20%zz+',
  '!#$&': "~'()*;,/?@",
};
const service = useIdp({
  seed: {
    ...adminSeed,
    clients: [
      ...adminSeed.clients,
      ...Object.entries(machines)
        .slice(1)
        .map(([id, secret]) => ({
          id,
          name: id,
          secret,
          metadata: { grant_types: ['client_credentials'] },
          allowedScopes: ['orders.read'],
        })),
    ],
  },
  limits: {
    signInFailures: 100,
    signInFailuresPerAddress: 100_000,
    adminRequestsPerMinute: 100_000,
    authenticationRequestsPerMinute: 100_000,
  },
});
let path: string;
let host: string;
let tid: string;
let token: string;
beforeAll(async () => {
  ({ host } = new URL(service.issuer));
  path = new URL(service.issuer).pathname.replace(/\/$/, '');
  token = await adminToken(service.issuer, 'root');
  tid = (await tenantIds(administer(service.issuer, token))).Acme ?? '';
});

const random = randomFrom(SEED);
const chance = (probability: number) => random() < probability;
const below = (count: number) => Math.floor(random() * count);
const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;

const ranges: readonly (readonly [number, number])[] = [
  ...([
    [0, 0x1f],
    [0x7f, 0x9f],
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x600, 0x61c],
    [0x115f, 0x1160],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
  ] as const),
  ...([
    [0x200b, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0x2800, 0x2800],
    [0x3164, 0x3164],
    [0xd800, 0xdfff],
    [0xe000, 0xe010],
  ] as const),
  ...([
    [0xfdd0, 0xfdef],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff0, 0xffff],
    [0x1d173, 0x1d17a],
    [0x1f1e6, 0x1f1ff],
  ] as const),
  ...([
    [0xe0000, 0xe01ef],
    [0x10fffe, 0x10ffff],
    [0x20, 0x7e],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0xff10, 0xff5e],
  ] as const),
];
const badCharacter = (): string => {
  const [from, to] = one(ranges);
  return String.fromCodePoint(from + below(to - from + 1));
};
const word = () => one(['Anna', 'علی', 'क्षि', '👩‍👧', 'Ås', 'x', 'ola@acme.test', '%41', 'a+b', '1e999']);
const text = (): string => Array.from({ length: 1 + below(4) }, () => (chance(0.5) ? badCharacter() : word())).join('');

const escapes = ['%', '%zz', '%e5', '%c0%af', '%ed%a0%80', '%00', '%u0041', '%25', '+', '%EF%BB%BF', '%F0%9F%98%80'];
/** Returns the value percent-encoded, sometimes with a broken or unusual escape at its end. */
const encoded = (value: string): string =>
  chance(0.1)
    ? encodeURIComponent(value.replace(/\p{Cs}/gu, '\ufffd')) + one(escapes)
    : encodeURIComponent(value.replace(/\p{Cs}/gu, '\ufffd'));
const formEncoded = (value: string): string => new URLSearchParams({ v: value }).toString().slice(2);

const form = 'application/x-www-form-urlencoded';

interface Try {
  readonly lines: readonly string[];
  readonly body: string | Uint8Array;
  /** Returns what is wrong with the answer. */
  judge(answer: RawAnswer): string | undefined;
}

const errorsOf: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request', 'invalid_grant', 'invalid_scope', 'unauthorized_client', 'unsupported_grant_type', 'invalid_client'],
  401: ['invalid_client'],
  413: ['invalid_request'],
  415: ['invalid_request', 'unsupported_media_type'],
  429: ['too_many_requests'],
};
function documented({ status, body }: RawAnswer): string | undefined {
  if (status === 200) return undefined;
  const { error = '' } = (body.startsWith('{') ? JSON.parse(body) : {}) as { error?: string };
  return errorsOf[status]?.includes(error) ? undefined : `an undocumented answer: ${status} ${body}`;
}

/** Returns the values of a form by name, or undefined for a form that cannot be decoded. */
function readForm(body: Uint8Array): ReadonlyMap<string, readonly string[]> | undefined {
  try {
    const written = new TextDecoder('utf-8', { fatal: true }).decode(body);
    const values = new Map<string, string[]>();
    for (const part of written.split('&')) {
      const [name = '', ...rest] = part.split('=').map((piece) => decodeURIComponent(piece.replaceAll('+', ' ')));
      values.set(name, [...(values.get(name) ?? []), rest.join('=')]);
    }
    return values;
  } catch {
    return undefined;
  }
}

/**
 * Returns the id and the secret of a header, by RFC 7617 §2 and RFC 6749 §2.3.1. Several blanks and tabs may follow the scheme, as in
 * copied text.
 */
function readBasic(header: string): readonly [id: string, secret: string] | undefined {
  const [, digits] = /^basic[ \t]+([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  // Padding may be missing, but not have another length.
  if (digits?.endsWith('=') && digits.length % 4 !== 0) return undefined;
  try {
    const [, id = '', secret = ''] =
      /^([^:]*):(.*)$/s.exec(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(digits ?? '', 'base64'))) ?? [];
    return [id, secret].map((part) => decodeURIComponent(part.replaceAll('+', ' '))) as [string, string];
  } catch {
    return undefined;
  }
}

const isRight = (credentials: readonly [string | undefined, string | undefined] | undefined): boolean =>
  credentials?.[0] !== undefined && machines[credentials[0]] === credentials[1];

function clientAuthentication(): Try {
  const [id, secret] = one(Object.entries(machines)) as [string, string];
  const shown = chance(0.7) ? secret : one([text().replace(/\p{Cs}/gu, ''), '', `${secret} `, secret.toUpperCase()]);
  const encode = one([formEncoded, formEncoded, encodeURIComponent, (value: string) => value]);
  const joined = `${encode(id)}:${encode(shown)}`;
  const bytes = chance(0.1) ? Buffer.concat([Buffer.from(joined), Buffer.from([one([0xe5, 0xff, 0xc0, 0x80])])]) : Buffer.from(joined);
  const base64 = one([
    bytes.toString('base64'),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    joined,
  ]);
  const scheme = one(['Basic', 'Basic', 'basic', 'BASIC', 'Basic ', 'Basic\t', 'Bearer', 'Basi\u0441']);
  const header = `${scheme} ${base64.replace(/[^ -~]/g, '?')}${chance(0.05) ? one(['=', ' ', '!', ',']) : ''}`;
  const headers = chance(0.7) ? (chance(0.05) ? [header, header] : [header]) : [];
  const fields = [`grant_type=client_credentials`];
  if (headers.length === 0 || chance(0.15)) fields.push(`client_id=${formEncoded(id)}`);
  if (headers.length === 0 || chance(0.1)) fields.push(`client_secret=${chance(0.2) ? '' : formEncoded(shown)}`);
  if (chance(0.1)) fields.push(one(fields), `${one(['client_id', 'client_secret', 'scope', 'client_assertion'])}=`);
  if (chance(0.15)) fields.push(`${encoded(text())}=${encoded(text())}`);
  const body = Buffer.concat([Buffer.from(fields.join('&')), Buffer.from(chance(0.03) ? [0x26, 0x61, 0x3d, one([0xe5, 0xff])] : [])]);
  const lines = [
    `POST ${path}/connect/token HTTP/1.1`,
    `Host: ${host}`,
    `Content-Type: ${one([form, form, `${form}; charset=utf-8`, `${form};charset=iso-8859-1`, `${form};charset=x`])}`,
    ...headers.map((value) => `Authorization: ${value}`),
  ];
  const isUnknownCharset = lines.some((line) => line.endsWith('charset=x'));
  const values = readForm(body);
  const single = (name: string) => values?.get(name)?.[0] || undefined;
  const isOnce = [...(values ?? [])].every(([name, { length }]) => length === 1 || !/^(client_|grant_type|scope)/.test(name));
  const basic = headers.length === 1 ? readBasic(header.trim()) : undefined;
  const shownOnce =
    headers.length === 0
      ? ([single('client_id'), single('client_secret')] as const)
      : single('client_secret') === undefined
        ? basic
        : undefined;
  const isMeant =
    values !== undefined && isOnce && isRight(shownOnce) && (headers.length === 0 || [undefined, basic?.[0]].includes(single('client_id')));
  return {
    lines,
    body,
    judge(answer) {
      if (answer.status === 200 && !isMeant) return 'a client authenticated by what is no right secret';
      if (isMeant && answer.status !== 200 && !isUnknownCharset) return 'a client did not authenticate by its right secret';
      if (answer.status === 401 && headers.length > 0 && !/^www-authenticate: basic/im.test(answer.head))
        return 'a 401 without a challenge';
      return documented(answer);
    },
  };
}

function authorization(): Try {
  const fields = {
    client_id: 'web',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  };
  const state = text().replace(/\p{Cs}/gu, '');
  const pairs = Object.entries({ ...fields, state, [one(['login_hint', 'cart', 'ui_locales', 'acr_values', 'nonce', 'prompt'])]: text() });
  const written = pairs.map(
    ([name, value]) => `${name}=${name in fields || name === 'state' ? encodeURIComponent(value) : encoded(value)}`,
  );
  if (chance(0.2)) written.push(one(['=', '&', 'state=', 'scope=', `${encoded(text())}`, one(written)]));
  const query = written.join('&');
  return {
    lines: [`GET ${path}/connect/authorize?${query} HTTP/1.1`, `Host: ${host}`, 'Accept: text/html'],
    body: '',
    judge({ status, head }) {
      if (![302, 303, 400, 414, 431].includes(status)) return `an undocumented answer: ${status}`;
      const [, location = ''] = /^location: (.*)\r?$/im.exec(head) ?? [];
      const returned = location.startsWith(redirectUri) ? new URL(location).searchParams.get('state') : null;
      return returned === null || returned === state ? undefined : `a state that is not as it came: ${JSON.stringify(returned)}`;
    },
  };
}

const kinds = { givenName: 'personName', familyName: 'personName', phoneNumber: 'line', externalId: 'line', email: 'address' } as const;

function record(): Try {
  const fields = Object.fromEntries(
    Object.keys(kinds)
      .filter((name) => name === 'givenName' || chance(0.3))
      .map((name) => [name, name === 'email' ? `${text()}@acme.test` : text()]),
  );
  const user = chance(0.5) ? { user: { userName: `${text()}${random()}` } } : {};
  const json = JSON.stringify({ ...fields, ...user, attributes: { [text()]: text() } });
  const bytes = Buffer.from(chance(0.1) ? json.replace(/\d(?=[,}])/, '1e999') : json, chance(0.1) ? 'latin1' : 'utf8');
  return {
    lines: [
      `POST ${path}/idp/api/v1/tenants/${tid}/persons HTTP/1.1`,
      `Host: ${host}`,
      `Content-Type: application/json${one(['', '; charset=utf-8', '; charset=iso-8859-1'])}`,
      `Authorization: Bearer ${token}`,
    ],
    body: bytes,
    judge({ status, body }) {
      if (![201, 400, 409, 422].includes(status)) return `an undocumented answer: ${status} ${body}`;
      if (status !== 201) return 'code' in JSON.parse(body) ? undefined : `an answer without a code: ${body}`;
      const stored = JSON.parse(body) as Readonly<Record<string, string>> & { readonly user?: { readonly userName: string } };
      const wrong = Object.entries(kinds).filter(([name, kind]) => stored[name] !== undefined && textProblem(kind, stored[name]));
      if (wrong.length > 0 || (stored.user && textProblem('userName', stored.user.userName)))
        return `a text that its kind refuses: ${body}`;
      return undefined;
    },
  };
}

test(`item 7: ${REQUESTS} requests get documented answers: FUZZ_SEED=${SEED}`, async () => {
  const statuses = new Map<string, number>();
  const accidents: string[] = [];
  let left = REQUESTS;
  const sender = async (): Promise<void> => {
    while (left-- > 0 && accidents.length === 0) {
      const make = one([clientAuthentication, clientAuthentication, authorization, record]);
      const { lines, body, judge } = make();
      const answer = await rawRequest(service.issuer, lines, body);
      const name = `${make.name} ${answer.status}`;
      statuses.set(name, (statuses.get(name) ?? 0) + 1);
      const wrong = judge(answer);
      if (wrong !== undefined) accidents.push(`${wrong}\n${lines.join('\n')}\n\n${body.toString()}\n\n${answer.head}\n${answer.body}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  expect(accidents).toEqual([]);
  // The run sends both valid and invalid requests.
  expect([...statuses.keys()].sort()).toEqual(
    expect.arrayContaining([
      'clientAuthentication 200',
      'clientAuthentication 400',
      'clientAuthentication 401',
      'authorization 303',
      'authorization 400',
      'record 201',
      'record 400',
      'record 422',
    ]),
  );
  expect(service.logged).toEqual([]);
});
