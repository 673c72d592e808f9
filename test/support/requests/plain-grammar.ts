/** Requests to the endpoints with two doors. Most are requests that callers send; the others differ from such requests in some parts. */

import type { TwinRequest } from '../service/twins.js';
import { plainType, unusualType } from './both-doors.js';
import { randomFrom } from './request-grammar.js';

type Fields = Readonly<Record<string, string>>;

/** Identifiers and credentials of a party. */
export interface Party {
  readonly id: string;
  /** Secret of the party. Absent if the party has no secret. */
  readonly secret?: string;
  /** Form fields of a client that authenticates by assertions: valid fields, and in `faulty` invalid fields. */
  readonly assertions?: { readonly right: readonly Fields[]; readonly faulty: readonly Fields[] };
  readonly scopes: readonly string[];
  readonly codes: readonly { readonly code: string; readonly verifier: string }[];
  /** Refresh tokens: live, spent and followed. */
  readonly refreshTokens: readonly string[];
  /** All tokens that may be introspected or revoked. */
  readonly tokens: readonly string[];
}

export interface PlainMaterial {
  readonly parties: readonly Party[];
  readonly redirectUri: string;
  readonly paths: Readonly<Record<'token' | 'introspect' | 'revoke' | 'userinfo' | 'par', string>>;
  /** Form fields that authenticate by an assertion. */
  readonly assertions: readonly Fields[];
  /** Origins that some clients allow. */
  readonly origins: readonly string[];
  /** `DPoP` headers. */
  readonly proofs: readonly string[];
}

const contentTypes = [
  unusualType,
  `${plainType};charset=UTF-8`,
  plainType.toUpperCase(),
  `${plainType}; charset=latin1`,
  'application/json',
  'text/plain',
  '',
];
const foreignValues = [
  '',
  ' ',
  'x',
  '0',
  'null',
  'æøå',
  '\u0000',
  '%',
  '+',
  '"\\',
  '[object Object]',
  'https://elsewhere.example/',
  'a'.repeat(44),
  'y'.repeat(600),
];
const otherNames = ['scope', 'resource', 'authorization_details', 'client_id', 'client_secret', 'code', 'refresh_token', 'token', 'token_type_hint', 'grant_type', 'nonce', 'state', 'x', 'toString', '__proto__', 'constructor', 'client_assertion', 'client_assertion_type', 'claims', 'sub'] as const; // biome-ignore format: a list
const scopeParts = ['openid', 'profile', 'email', 'offline_access', 'org', 'orders.read', 'invoices.read', 'nonsense', ''];
const otherHeaders: readonly (readonly [string, string])[] = [
  ['origin', 'null'],
  ['origin', ''],
  ['accept', 'application/json'],
  ['accept', 'text/html'],
  ['accept', 'image/png'],
  ['oauth-client-attestation', 'x'],
  ['x-forwarded-for', '192.0.2.9'],
  ['cookie', 'a=b'],
  ['dpop', 'x'],
];

/** @param seed the same seed gives the same requests. */
export function createPlainGrammar(seed: number, material: PlainMaterial): () => TwinRequest {
  const random = randomFrom(seed);
  const chance = (probability: number): boolean => random() < probability;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const some = (all: readonly string[]): string => all.filter(() => chance(0.5)).join(' ');

  const foreign = (): string => {
    const party = pick(material.parties);
    return pick([...party.tokens, ...party.refreshTokens, ...party.codes.map(({ code }) => code), ...foreignValues]);
  };
  const broken = (value: string): string => {
    if (value === '' || chance(0.3)) return foreign();
    const at = Math.floor(random() * value.length);
    return pick([
      value.slice(0, at),
      value + pick(['a', ' ', '=', '.']),
      `${value.slice(0, at)}A${value.slice(at + 1)}`,
      value.toUpperCase(),
      ` ${value}`,
    ]);
  };
  const scopeOf = (party: Party): string => pick([party.scopes.join(' '), some(party.scopes), some(scopeParts), pick(scopeParts)]);

  const tokenFields = (party: Party): [string, string][] => {
    const code = party.codes.length > 0 ? pick(party.codes) : { code: foreign(), verifier: foreign() };
    const ways: (() => [string, string][])[] = [
      () => [
        ['grant_type', 'authorization_code'],
        ['code', code.code],
        ['redirect_uri', material.redirectUri],
        ['code_verifier', code.verifier],
      ],
      () => [
        ['grant_type', 'refresh_token'],
        ['refresh_token', party.refreshTokens.length > 0 ? pick(party.refreshTokens) : foreign()],
        ...(chance(0.3) ? [['scope', scopeOf(party)] as [string, string]] : []),
      ],
      () => [['grant_type', 'client_credentials'], ...(chance(0.5) ? [['scope', scopeOf(party)] as [string, string]] : [])],
      () => [['grant_type', pick(['password', 'implicit', 'urn:x', ''])]],
    ];
    return (pick([0, 0, 0, 1, 1, 1, 1, 2, 2, 3].map((index) => ways[index])) as (typeof ways)[number])();
  };
  const ownToken = (party: Party): string => (party.tokens.length > 0 && chance(0.8) ? pick(party.tokens) : foreign());
  const parFields = (party: Party): [string, string][] => [
    ['client_id', party.id],
    ['response_type', chance(0.92) ? 'code' : pick(['token', 'token', 'code id_token', 'none', ''])],
    ['redirect_uri', material.redirectUri],
    ['scope', chance(0.7) ? 'openid profile' : scopeOf(party)],
    ['code_challenge', pick(['a', 'b', '_']).repeat(43)],
    ['code_challenge_method', chance(0.95) ? 'S256' : pick(['plain', 'x'])],
    ...(chance(0.7) ? [['state', pick(['1', '2', 'æ', 'x'.repeat(500), '"'])] as [string, string]] : []),
    ...(chance(0.7) ? [['nonce', pick(['n', 'm', ''])] as [string, string]] : []),
    ...(chance(0.1)
      ? [
          [pick(['prompt', 'max_age', 'acr_values', 'response_mode', 'ui_locales', 'cart']), pick(['login', '1', 'query', 'nb'])] as [
            string,
            string,
          ],
        ]
      : []),
  ];

  /** Adds the id alone, or the id with another credential. */
  const identified = (id: string, fields: [string, string][], headers: Record<string, string>): void => {
    if (!fields.some(([name]) => name === 'client_id')) fields.push(['client_id', id]);
    if (chance(0.9)) return;
    pick<() => unknown>([
      () => fields.push(['client_secret', pick(['', 'x'])]),
      () => fields.push(...Object.entries(pick(material.assertions))),
      () => fields.push(['client_assertion_type', 'x']),
      () => fields.push(['client_id', pick(material.parties).id]),
      () => {
        headers.authorization = `Basic ${Buffer.from(`${id}:`).toString('base64')}`;
      },
    ])();
  };

  const asserted = ({ id, assertions }: Party, fields: [string, string][], headers: Record<string, string>): void => {
    const { right = [], faulty = [] } = assertions ?? {};
    const assert = (from: readonly Fields[] = right, ...names: string[]) =>
      fields.push(...Object.entries(pick(from)).filter(([name]) => !names.includes(name)));
    if (chance(0.7)) {
      assert();
      if (chance(0.5)) fields.push(['client_id', id]);
      return;
    }
    pick<() => unknown>([
      () => assert(faulty),
      () => assert(faulty),
      () => [assert(), fields.push(['client_id', pick(material.parties).id])],
      () => [assert(), fields.push(['client_secret', pick(['', 'x'])])],
      () => assert(right, 'client_assertion_type'),
      () => [assert(right, 'client_assertion_type'), fields.push(['client_assertion_type', foreign()])],
      () => [assert(right, 'client_assertion'), fields.push(['client_assertion', broken(pick(right).client_assertion ?? '')])],
      () => {
        assert();
        headers.authorization = `Basic ${Buffer.from(`${id}:x`).toString('base64')}`;
      },
      () => fields.push(['client_id', id]),
    ])();
  };

  const withSecret = (id: string, secret: string, fields: [string, string][], headers: Record<string, string>): void => {
    const basic = (name: string, password: string) =>
      `Basic ${Buffer.from(`${encodeURIComponent(name)}:${encodeURIComponent(password)}`).toString('base64')}`;
    const authorize = (value: string): void => {
      headers.authorization = value;
    };
    const post = (password: string) => fields.push(['client_id', id], ['client_secret', password]);
    if (chance(0.75)) {
      if (chance(0.7)) authorize(basic(id, secret));
      else post(secret);
      return;
    }
    const right = basic(id, secret);
    pick<() => unknown>([
      () => authorize(basic(id, 'wrong')),
      () => authorize(basic(pick(material.parties).id, secret)),
      () => authorize(right.replace('Basic', pick(['basic', 'BASIC', 'Bearer', 'Basic ', '']))),
      () => authorize(right.replace(/=+$/, '')),
      () => authorize(`${right}=`),
      () => authorize(right.slice(0, -3)),
      () => authorize(`Basic ${Buffer.from(id).toString('base64')}`),
      () => authorize(`Basic ${Buffer.from(`${id}:${secret}:`).toString('base64')}`),
      () => authorize(`Basic ${Buffer.from(`%77${id.slice(1)}:${secret}`).toString('base64')}`),
      () => authorize(`Basic ${Buffer.from(`${id}:%zz`).toString('base64url')}`),
      () => [authorize(right), post(secret)],
      () => [authorize(right), fields.push(['client_id', chance(0.5) ? id : 'other'])],
      () => post(''),
      () => post('wrong'),
      () => fields.push(['client_secret', secret]),
      () => fields.push(['client_id', id]),
      () => fields.push(...Object.entries(pick(material.assertions))),
      () => [authorize(right), fields.push(...Object.entries(pick(material.assertions)))],
      () => {},
    ])();
  };

  const authenticated = (party: Party, fields: [string, string][], headers: Record<string, string>): void => {
    const { id, secret, assertions } = party;
    if (assertions) asserted(party, fields, headers);
    else if (secret === undefined) identified(id, fields, headers);
    else withSecret(id, secret, fields, headers);
  };

  const encoded = (text: string): string => {
    if (!chance(0.05)) return encodeURIComponent(text).replace(/%20/g, '+');
    return pick([
      () => encodeURIComponent(text),
      () => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
      () => text.replace(/[&=]/g, ''),
    ])();
  };
  const formOf = (fields: readonly [string, string][]): string => {
    const text = fields.map(([name, value]) => (chance(0.01) ? encoded(name) : `${encoded(name)}=${encoded(value)}`)).join('&');
    return chance(0.95)
      ? text
      : pick([`${text}&`, `&${text}`, text.replace('&', '&&'), text.replaceAll('&', ';'), `${text}&=x`, `${text}&x`, `${text}&%`, '']);
  };

  return () => {
    const endpoint = pick(['token', 'token', 'token', 'introspect', 'introspect', 'revoke', 'userinfo', 'par'] as const);
    const party = pick(material.parties);
    const headers: Record<string, string> = {};
    let path: string = material.paths[endpoint];
    let body = '';
    let method = 'POST';
    if (endpoint === 'userinfo' && chance(0.9)) {
      method = chance(0.97) ? 'GET' : pick(['HEAD', 'POST', 'PUT']);
      const token = ownToken(party);
      if (chance(0.95))
        headers.authorization =
          `${chance(0.9) ? 'Bearer' : pick(['bearer', 'DPoP', 'Basic', 'Bearer ', ''])} ${chance(0.95) ? token : broken(token)}`.replace(
            /[^\t\x20-\x7e\x80-\xff]/g,
            '',
          );
      if (chance(0.1)) path += `?${formOf([[pick(['access_token', 'x', 'scope', 'scope']), chance(0.5) ? token : scopeOf(party)]])}`;
    } else {
      let fields: [string, string][] =
        endpoint === 'token' ? tokenFields(party) : endpoint === 'par' ? parFields(party) : [['token', ownToken(party)]];
      authenticated(party, fields, headers);
      if (chance(0.2)) fields = fields.filter(() => !chance(0.2));
      if (chance(0.15)) fields = fields.map(([name, value]) => (chance(0.3) ? [name, broken(value)] : [name, value]));
      if (chance(0.12)) fields.push([pick(otherNames), chance(0.5) ? foreign() : scopeOf(party)]);
      if (chance(0.05) && fields.length > 0) fields.push(pick(fields));
      if (chance(0.1)) fields.sort(() => random() - 0.5);
      body = formOf(fields);
      const type = chance(0.93) ? plainType : pick(contentTypes);
      if (type) headers['content-type'] = type;
      if (chance(0.02)) path += '?grant_type=client_credentials';
      if (chance(0.02)) path = path.toUpperCase();
    }
    if (chance(0.2)) headers.origin = pick(material.origins);
    if (chance(0.06)) {
      const [name, value] = pick(otherHeaders);
      headers[name] = value;
    }
    if (chance(0.04) && material.proofs.length > 0) headers.dpop = pick(material.proofs);
    if (method !== 'GET' && method !== 'HEAD') headers['content-length'] = `${Buffer.byteLength(body)}`;
    return { method, path, headers, body };
  };
}
