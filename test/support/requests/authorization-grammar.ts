/** Authorization requests. Most are requests that clients send; the others differ from such requests in one or more parts. */
import type { Fault, TwinRequest } from '../service/twins.js';
import { randomFrom } from './request-grammar.js';

export interface AuthorizationMaterial {
  /** Clients, with scopes that their records allow. */
  readonly clients: readonly {
    readonly id: string;
    readonly scopes: readonly string[];
    readonly redirectUri: string;
    readonly secret: string | undefined;
  }[];
  /** `Cookie` headers, each with the kind of its browser. */
  readonly browsers: readonly (readonly [what: string, cookie: string])[];
  /** References to pushed requests, with their clients. */
  readonly pushed: readonly { readonly clientId: string; readonly uri: string }[];
  /** ID tokens, and other JWTs. */
  readonly jwts: readonly string[];
  readonly challenge: string;
}

export interface AskedAuthorization {
  readonly request: TwinRequest;
  readonly fault: Fault | undefined;
  readonly browser: string;
}

const values: Readonly<Record<string, readonly string[]>> = {
  response_type: ['code', 'code id_token', 'id_token', 'none', 'token', 'code code', 'CODE', 'x'],
  response_mode: ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'x'],
  prompt: ['none', 'login', 'consent', 'select_account', 'create', 'none login', 'NONE', 'x'],
  scope: ['openid', 'openid profile', 'openid offline_access', 'openid  profile', 'openid openid', ' openid', 'orders.read', 'openid nonsense', 'openid invoices.read', 'openid "'], // biome-ignore format: a list
  redirect_uri: ['http://127.0.0.1:9/callback/', 'http://127.0.0.1:9/other', 'https://elsewhere.example/', 'http://127.0.0.1:9/callback#f', 'HTTP://127.0.0.1:9/callback', 'x', `http://127.0.0.1:9/${'y'.repeat(3000)}`], // biome-ignore format: a list
  state: ['s', 'open', 'refused', 'broken', 'æ ø&=', 's'.repeat(4097), '"<\\', '\u0000'],
  nonce: ['n', 'n'.repeat(1025), 'æ'],
  code_challenge: ['x'.repeat(43), 'x'.repeat(42), 'x'.repeat(129), 'æ'.repeat(43)],
  code_challenge_method: ['S256', 's256', 'plain', 'x'],
  ui_locales: ['nb en', 'x'.repeat(513)],
  acr_values: ['mfa', 'idp:local', 'idp:none', 'tenant:x', 'impersonate', 'x', 'tenant:'],
  max_age: ['0', '1', '100000', 'x', '-1'],
  display: ['page', 'popup'],
  login_hint: ['alice@acme.test', 'x'],
  claims: ['{"userinfo":{"email":null}}', 'x'],
  claims_locales: ['nb'],
  resource: ['https://api.example', 'x'],
  authorization_details: ['[]', 'x'],
  registration: ['{}'],
  request: ['x', 'a.b.c'],
  request_uri: ['https://elsewhere.example/r', 'urn:ietf:params:oauth:request_uri:x', 'x'],
  id_token_hint: ['x'],
  login_hint_token: ['x'],
  sso_token: ['x'],
  eid_call_initiator: ['x'],
  eid_user_visible_data: ['x'],
  eid_user_visible_data_format: ['x'],
  dpop_jkt: ['x'.repeat(43)],
  client_secret: ['web-secret'],
  client_assertion: ['x'],
  client_assertion_type: ['x'],
  web_message_uri: ['x'],
  op: ['x'],
  utm_source: ['letter', 'æ'],
  'filter[a]': ['b'],
  code: ['x'],
  error: ['x'],
  iss: ['x'],
  __custom: ['{"custom":[]}', 'x'],
  __proven: ['x'],
  __restarted: ['x'],
  ['__proto__' as string]: ['x'],
  constructor: ['x'],
  long: ['x'.repeat(4097)],
};
const names = Object.keys(values);

/** @param seed the same seed gives the same requests. */
export function createAuthorizationGrammar(seed: number, material: AuthorizationMaterial): () => AskedAuthorization {
  const random = randomFrom(seed);
  const chance = (probability: number): boolean => random() < probability;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const [live] = material.browsers as [readonly [string, string]];

  const plain = (): [string, string][] => {
    const client = chance(0.5) ? (material.clients[0] as (typeof material.clients)[number]) : pick(material.clients);
    return [
      ['client_id', client.id],
      ['redirect_uri', client.redirectUri],
      ['response_type', 'code'],
      ['scope', chance(0.7) ? client.scopes.join(' ') : ['openid', ...client.scopes.filter(() => chance(0.5))].join(' ')],
      ...(chance(0.8) ? [['state', 'a-state'] as [string, string]] : []),
      ...(chance(0.8) ? [['nonce', 'a-nonce'] as [string, string]] : []),
      ...(chance(0.8)
        ? ([
            ['code_challenge', material.challenge],
            ['code_challenge_method', 'S256'],
          ] as [string, string][])
        : []),
      ...(chance(0.4) ? [['prompt', 'none'] as [string, string]] : []),
      ...(chance(0.1) ? [['utm_source', 'letter'] as [string, string]] : []),
    ];
  };
  const reference = (): [string, string][] => {
    const { clientId, uri } = pick(material.pushed);
    return [
      ['client_id', chance(0.9) ? clientId : pick(material.clients).id],
      ['request_uri', chance(0.95) ? uri : `${uri.slice(0, -1)}A`],
    ];
  };
  const sampleOf = (name: string): string => {
    if (name === 'id_token_hint' || name === 'login_hint_token') return pick(material.jwts);
    return pick(values[name] ?? ['x']);
  };
  const changed = (pairs: [string, string][]): void => {
    const at = Math.floor(random() * pairs.length);
    const [name, value] = pairs[at] as [string, string];
    const kind = pick(['other', 'other', 'other', 'add', 'add', 'add', 'drop', 'empty', 'twice', 'upper', 'shuffle', 'client']);
    if (kind === 'add') {
      const added = pick(names);
      pairs.push([added, sampleOf(added)]);
    } else if (kind === 'other') pairs[at] = [name, name in values ? sampleOf(name) : 'x'];
    else if (kind === 'drop') pairs.splice(at, 1);
    else if (kind === 'empty') pairs[at] = [name, ''];
    else if (kind === 'twice') pairs.push([name, chance(0.5) ? value : 'x']);
    else if (kind === 'upper') pairs[at] = [name.toUpperCase(), value];
    else if (kind === 'client') pairs[at] = ['client_id', chance(0.5) ? pick(material.clients).id : 'nobody'];
    else pairs.reverse();
  };
  /** Returns a query in a form that means the same, or in a malformed form. */
  const written = (pairs: [string, string][]): string => {
    const query = new URLSearchParams(pairs).toString();
    if (chance(0.9)) return query;
    return pick([
      query.replaceAll('+', '%20'),
      query.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      `${query}&`,
      `&${query}`,
      `${query}&%`,
      `${query}&x=%ff`,
      query.replaceAll('&', ';'),
      `${query}#fragment`,
    ]);
  };

  /** Returns a request that its client pushes. The secret is in the form, or not. */
  const push = (pairs: [string, string][]): AskedAuthorization => {
    const id = pairs.find(([name]) => name === 'client_id')?.[1] ?? 'web';
    const secret = (material.clients.find((client) => client.id === id)?.secret ?? 'x') + (chance(0.05) ? 'x' : '');
    const isBasic = chance(0.5);
    const body = written(isBasic || chance(0.05) ? pairs : [...pairs, ['client_secret', secret]]);
    const headers: Record<string, string> = {
      'content-type': chance(0.95) ? 'application/x-www-form-urlencoded' : 'application/x-www-form-urlencoded; charset=utf-8',
      'content-length': `${Buffer.byteLength(body)}`,
      ...(isBasic ? { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` } : {}),
      ...(chance(0.03) ? { origin: 'https://elsewhere.example' } : {}),
      ...(chance(0.03) ? { dpop: 'x' } : {}),
      ...(chance(0.05) ? { accept: 'text/html' } : {}),
    };
    const fault = chance(0.05) ? pick<Fault>(['read', 'commit', 'removed PushedAuthorizationRequest']) : undefined;
    return { request: { method: 'POST', path: '/connect/par', headers, body }, fault, browser: 'none' };
  };

  return () => {
    const pairs = chance(0.15) ? reference() : plain();
    while (chance(0.3)) if (pairs.length > 0) changed(pairs);
    if (chance(0.2)) return push(pairs);
    const [browser, cookie] = chance(0.5) ? live : pick(material.browsers);
    const query = written(pairs);
    const isPost = chance(0.02);
    const path = chance(0.95)
      ? '/connect/authorize'
      : pick(['/connect/authorize/', '/connect/Authorize', '/CONNECT/AUTHORIZE', '/connect//authorize']);
    const headers: Record<string, string> = {
      ...(cookie === '' ? {} : { cookie }),
      accept: chance(0.9) ? 'text/html,*/*' : pick(['application/json', '*/*']),
      ...(chance(0.02) ? { dpop: 'x' } : {}),
      ...(chance(0.02) ? { origin: 'https://elsewhere.example' } : {}),
      ...(isPost ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    };
    const method = isPost ? 'POST' : chance(0.02) ? 'HEAD' : 'GET';
    const kinds = ['Session', 'PushedAuthorizationRequest', 'AuthorizationCode', 'Grant'];
    const fault = chance(0.06)
      ? pick<Fault>([
          'read',
          'later read',
          'persons',
          'commit',
          ...kinds.flatMap((kind): Fault[] => [`removed ${kind}`, `changed ${kind}`]),
        ])
      : undefined;
    return {
      request: { method, path: isPost ? path : `${path}?${query.split('#')[0]}`, headers, body: isPost ? query : '' },
      fault,
      browser,
    };
  };
}
