/** Differences between answers of the service and answers of oidc-provider by itself over the same records, with their reasons. */

import { isDeepStrictEqual } from 'node:util';
import { present } from '../../../lib/present.js';
import type { BareOutcome, Outcome, TwinRequest } from '../service/twins.js';

type Json = Readonly<Record<string, unknown>>;

/** Visible parts of an answer, without ids, signatures, and parts that differ between any two answers. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Json | string;
}

export interface Case {
  readonly request: TwinRequest;
  /** Fields of the form, decoded. */
  readonly form: URLSearchParams;
  /** The caller that authenticated at oidc-provider. */
  readonly caller: string | undefined;
  /** Whether the user, the tenant or the client of an introspected token was stopped. */
  isStopped(token: Json): boolean;
}

export interface Difference {
  /** Row in the section “Differences from oidc-provider” of docs/decisions.md. */
  readonly what: string;
  readonly ours: string;
  readonly bare: string;
  readonly reason: string;
  /** Returns oidc-provider's answer without this difference; undefined if the answers do not have this difference. */
  settle(bare: Seen, ours: Seen, asked: Case): Seen | undefined;
}

const members = ({ body }: Seen): Json => (typeof body === 'string' ? {} : body);
/** Whether the text has the form of a JWT, by the rule of oidc-provider. */
const isSigned = (value: unknown): boolean => typeof value === 'string' && value.split('.').length >= 3;

const errorOf = (seen: Seen): unknown => members(seen).error;
const isInactive = ({ body }: Seen): boolean => isDeepStrictEqual(body, { active: false });
const isTo = ({ path }: TwinRequest, endpoint: string): boolean => path.toLowerCase().startsWith(`/connect/${endpoint}`);

/** Whether our answer has each member of oidc-provider's answer. */
const isPartOf = (bare: Seen, ours: Seen): boolean =>
  bare.status === ours.status && Object.entries(members(bare)).every(([name, value]) => isDeepStrictEqual(members(ours)[name], value));

/** Returns oidc-provider's members, with those of our members of these names that oidc-provider leaves out. */
const withMembers = (theirs: Json, ours: Json, names: readonly string[]): Json => ({
  ...Object.fromEntries(names.flatMap((name) => (ours[name] === undefined ? [] : [[name, ours[name]]]))),
  ...theirs,
});

/** Rows of differences. A test checks that some request needs each row, and that each difference has a row. */
export const differences: readonly Difference[] = [
  {
    what: 'Caches',
    ours: '`Cache-Control: no-store` and `Pragma: no-cache`, at revocation too',
    bare: '`Cache-Control: no-store`, not at revocation',
    reason: 'RFC 6749 §5.1 requires both',
    settle: (bare, { headers }) =>
      headers.pragma === 'no-cache' && headers['cache-control'] === 'no-store'
        ? { ...bare, headers: { ...bare.headers, 'cache-control': 'no-store', pragma: 'no-cache' } }
        : undefined,
  },
  {
    what: 'A form or query that is not UTF-8 in percent-encoding',
    ours: '400 `invalid_request`',
    bare: 'reads U+FFFD in place of what it cannot decode',
    reason: 'a repaired value differs from the value that was sent',
    settle: (_bare, ours) =>
      ours.status === 400 && /percent-encoding|failed to parse the request body/.test(`${members(ours).error_description}`)
        ? ours
        : undefined,
  },
  {
    what: 'An `Authorization` header with more than one space after the scheme',
    ours: 'reads it like one with a single space',
    bare: '400 `invalid_request`',
    reason: 'RFC 9110 §11.4 allows it',
    settle: (bare, ours, { request }) =>
      /^\S+ [ \t]/.test(`${request.headers.authorization ?? ''}`) &&
      bare.status === 400 &&
      /authorization header/.test(`${members(bare).error_description}`)
        ? ours
        : undefined,
  },
  {
    what: 'A token with `Bearer` before it or white space around it, at introspection and revocation',
    ours: 'reads the token',
    bare: 'does not know the token',
    reason: 'no token has white space in it, so the text has one meaning',
    settle: (bare, ours, { request, form }) =>
      (isTo(request, 'introspect') || isTo(request, 'revo')) &&
      /\s/.test(form.get('token') ?? '') &&
      isInactive(bare) &&
      members(ours).active === true
        ? ours
        : undefined,
  },
  {
    what: 'A grant type or response type that the client is not registered for',
    ours: '`unauthorized_client`',
    bare: '`invalid_request`',
    reason: 'RFC 6749 §4.1.2.1 and §5.2 name this error for it',
    settle: (bare) =>
      members(bare).error === 'invalid_request' &&
      /^requested (grant type|response_type) is not allowed for this client$/.test(`${members(bare).error_description}`)
        ? { ...bare, body: { ...members(bare), error: 'unauthorized_client' } }
        : undefined,
  },
  {
    what: 'Response type `token`',
    ours: 'works for clients that register it',
    bare: '`unsupported_response_type`',
    reason: 'the service specification has the implicit flow',
    settle: (bare, ours, { form }) =>
      form.get('response_type') === 'token' && errorOf(ours) === 'unauthorized_client' && errorOf(bare) === 'unsupported_response_type'
        ? ours
        : undefined,
  },
  {
    what: 'No client authentication',
    ours: '401 `invalid_client`, with a challenge',
    bare: '400 `invalid_request`',
    reason: 'RFC 6749 §5.2 lists it under `invalid_client`',
    settle: (bare, ours) =>
      bare.status === 400 &&
      members(bare).error_description === 'no client authentication mechanism provided' &&
      /^Basic realm="[^"]+"$/.test(`${ours.headers['www-authenticate']}`)
        ? {
            status: 401,
            headers: { ...bare.headers, 'www-authenticate': ours.headers['www-authenticate'] },
            body: { error: 'invalid_client', error_description: 'client authentication failed' },
          }
        : undefined,
  },
  {
    what: 'The audience of a client assertion',
    ours: 'must be the issuer alone, as one string',
    bare: 'may also be the URL of an endpoint',
    reason: 'an assertion for one server must not work at another (draft-ietf-oauth-rfc7523bis)',
    settle: (bare, ours, { form }) =>
      form.has('client_assertion') && ours.status === 401 && bare.status !== 401 && errorOf(ours) === 'invalid_client' ? ours : undefined,
  },
  {
    what: 'Wrong secrets and assertions, one after another',
    ours: '429 `too_many_requests`',
    bare: '401 `invalid_client`',
    reason: 'nobody can find a secret by trying',
    settle: (bare, ours, { form }) =>
      ours.status === 429 && ([401, 429].includes(bare.status) || form.has('client_assertion')) ? ours : undefined,
  },
  {
    what: 'A method that an endpoint does not support',
    ours: '405, with `Allow`',
    bare: '404',
    reason: 'RFC 9110 §15.5.6',
    settle: (bare, ours) => (ours.status === 405 && ours.headers.allow !== undefined && bare.status === 404 ? ours : undefined),
  },
  {
    what: 'JWT access tokens',
    ours: "for clients with `accessTokenType: 'jwt'`; recorded, so that introspection, revocation and userinfo accept them",
    bare: 'only for resources of RFC 8707; introspection, revocation and userinfo refuse them',
    reason: 'the service specification sets them by client, and a revoked one must be inactive immediately',
    settle(bare, ours, { request, form }) {
      const isShown = isSigned(form.get('token')) || isSigned(request.headers.authorization);
      const isRefused = ['unsupported_token_type', 'invalid_token'].includes(`${errorOf(bare)}`);
      if (isShown && isRefused && bare.status >= 400) return ours;
      const { access_token: issued, expires_in: expiresIn } = members(ours);
      return bare.status === 200 && typeof issued === 'object' && members(bare).access_token !== undefined
        ? { ...bare, body: { ...members(bare), access_token: issued, expires_in: expiresIn } }
        : undefined;
    },
  },
  {
    what: 'Revocation of a token of another client',
    ours: '200, and nothing happens',
    bare: '400 `invalid_request`, unless the client is a public one',
    reason: 'an unknown token gets the same answer (RFC 7009 §2.2), so nobody finds out which tokens are live',
    settle: (bare, ours, { request }) =>
      isTo(request, 'revocation') &&
      ours.status === 200 &&
      bare.status === 400 &&
      members(bare).error_description === 'client is not authorized to revoke the presented token'
        ? { status: 200, headers: { ...bare.headers, 'content-type': ours.headers['content-type'] }, body: '' }
        : undefined,
  },
  {
    what: 'Introspection of a token of another client, or by a public client',
    ours: '`{"active":false}`, except for API resources that own a scope of it and clients with `introspects: \'all\'`',
    bare: 'the token, to every client with a secret, and to a public one its own',
    reason: 'a client learns nothing about users of another (RFC 7662 §4), and anybody can pass for a public client',
    settle: (bare, ours, { request, caller }) =>
      isTo(request, 'introspect') &&
      isInactive(ours) &&
      members(bare).active === true &&
      (members(bare).client_id !== caller || caller === 'spa')
        ? { ...bare, body: { active: false } }
        : undefined,
  },
  {
    what: 'Introspection when the user, the tenant or the client is disabled or removed',
    ours: '`{"active":false}`, immediately',
    bare: 'the token until it expires; 500 where the client was removed',
    reason: 'a disabled account or client must not work anywhere',
    settle: (bare, ours, { request, isStopped }) =>
      isTo(request, 'introspect') &&
      isInactive(ours) &&
      (bare.status === 500 || (members(bare).active === true && isStopped(members(bare))))
        ? { status: 200, headers: { ...bare.headers, 'content-type': ours.headers['content-type'] }, body: { active: false } }
        : undefined,
  },
  {
    what: 'Members of an introspection answer',
    ours: 'claims of the sign-in and of plugins, `username`, `nbf`, `sub` of clients themselves, `jti` (a digest), `aud`, and `token_type` of refresh tokens',
    bare: 'has none of them for opaque tokens without a resource',
    reason: 'the service specification lists them',
    settle: (bare, ours, { request }) =>
      isTo(request, 'introspect') && members(ours).active === true && members(bare).active === true
        ? {
            ...bare,
            body: withMembers(members(bare), members(ours), [
              ...['sub', 'nbf', 'username', 'tid', 'oid', 'amr', 'idp', 'auth_time', 'jti', 'aud', 'token_type'],
            ]),
          }
        : undefined,
  },
  {
    what: '`client_credentials` without `scope`',
    ours: 'all API scopes of the client',
    bare: 'no scope',
    reason: 'RFC 6749 §3.3 lets the server choose, and a token without a scope is useless',
    settle: (bare, ours, { form }) =>
      form.get('grant_type') === 'client_credentials' && !form.get('scope') && bare.status === 200 && members(bare).scope === undefined
        ? { ...bare, body: withMembers(members(bare), members(ours), ['scope']) }
        : undefined,
  },
  {
    what: '`client_credentials` with a scope of identity',
    ours: '`invalid_scope`',
    bare: 'a token with that scope',
    reason: 'a client by itself is not a user',
    settle: (bare, ours, { form }) =>
      form.get('grant_type') === 'client_credentials' && errorOf(ours) === 'invalid_scope' && bare.status === 200 ? ours : undefined,
  },
  {
    what: 'A refresh token used again within its grace',
    ours: 'gets the same successor, and introspects as active',
    bare: '`invalid_grant`, and ends the grant; introspects as inactive',
    reason: 'a lost answer must sign nobody out',
    settle: (bare, ours, { request, form }) =>
      ours.status === 200 &&
      ((form.get('grant_type') === 'refresh_token' && errorOf(bare) === 'invalid_grant') ||
        (isTo(request, 'introspect') && members(ours).token_type === 'refresh_token' && isInactive(bare)))
        ? ours
        : undefined,
  },
  {
    what: '`scope` at userinfo',
    ours: 'is ignored',
    bare: 'narrows the answer; `insufficient_scope` where the token lacks it',
    reason: 'OpenID Connect has no such parameter, and the answer has all that was granted',
    settle: (bare, ours, { request, form }) =>
      isTo(request, 'userinfo') &&
      (new URL(request.path, 'http://localhost').searchParams.has('scope') || form.has('scope')) &&
      (bare.status === 403 ||
        members(bare).error_description === "'scope' parameter must not be provided twice" ||
        members(bare).error_description === 'scope contains invalid characters' ||
        isPartOf(bare, ours))
        ? ours
        : undefined,
  },
  {
    what: 'ID tokens of the token endpoint',
    ours: 'have `amr`, `auth_time` and `idp`',
    bare: 'have `amr` and `auth_time` only on request',
    reason: 'the service specification has them in each ID token',
    settle(bare, ours) {
      const [told, plain] = [members(ours).id_token, members(bare).id_token] as [Json, Json];
      if (!told || !plain) return undefined;
      return { ...bare, body: { ...members(bare), id_token: withMembers(plain, told, ['amr', 'auth_time', 'idp']) } };
    },
  },
  {
    what: 'A scope that the client may not have, in a pushed request or with a code; a pushed request without scopes',
    ours: '`invalid_scope`, `invalid_request`',
    bare: 'leaves out an unknown scope, ignores every scope with a code, and reads a request without scopes as plain OAuth',
    reason: 'a typo shows immediately; tokens without a scope are useless',
    settle(bare, ours, { request, form }) {
      const isRefusedScope = /^The requested scope is unknown, or not allowed for this client\.|^scope is missing\./.test(
        `${members(ours).error_description}`,
      );
      const isTaken = isTo(request, 'par')
        ? bare.status === 201
        : form.get('grant_type') === 'authorization_code' && form.has('scope') && bare.status === 200;
      return isTaken && ours.status === 400 && isRefusedScope ? ours : undefined;
    },
  },
  {
    what: 'A request with several faults',
    ours: 'names another fault first: a scope before a refresh token, an ended grant before an origin, a used token before malformed parameters, missing client authentication before a duplicate parameter',
    bare: 'names the other fault',
    reason: 'the error names one of the faults in both cases',
    settle: (bare, ours) =>
      faultsAtOnce.includes(`${errorOf(ours)}, not ${errorOf(bare)}`) ||
      (ours.status === 401 && `${members(bare).error_description}`.endsWith(' must not be provided twice'))
        ? ours
        : undefined,
  },
  {
    what: 'Words of a refusal',
    ours: 'say that a scope is unknown or not allowed and name each; say that the client may not use `plain`',
    bare: 'says less, or names the first scope',
    reason: 'a developer sees what to change; status and `error` are the same',
    settle(bare, ours) {
      if (errorOf(ours) === undefined || errorOf(bare) !== errorOf(ours) || bare.status !== ours.status) return undefined;
      const { error_description, scope } = members(ours);
      return { ...bare, body: { ...members(bare), error_description, ...present({ scope }) } };
    },
  },
];

const faultsAtOnce = [
  'invalid_scope, not invalid_grant',
  'invalid_scope, not invalid_request',
  'invalid_grant, not invalid_scope',
  'invalid_request, not invalid_scope',
  'invalid_scope, not invalid_dpop_proof',
  'invalid_dpop_proof, not invalid_scope',
  'invalid_grant, not invalid_dpop_proof',
  'invalid_dpop_proof, not invalid_request',
  'invalid_grant, not invalid_request',
  'invalid_token, not invalid_request',
];

const seenHeaders = [
  'content-type',
  'cache-control',
  'pragma',
  'vary',
  'access-control-allow-origin',
  'access-control-allow-methods',
  'access-control-expose-headers',
  'www-authenticate',
  'dpop-nonce',
  'allow',
  'location',
];

export function seen({ status, headers, body }: Omit<Outcome, 'writes' | 'lines'> | BareOutcome): Seen {
  const shown = Object.fromEntries(seenHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
  const isPage = `${headers['content-type']}`.startsWith('text/html');
  return { status, headers: shown, body: isPage ? 'a page' : body.startsWith('{') ? withoutChance(JSON.parse(body) as Json) : body };
}

/** Returns whether the body of an answer does not state the error: the body is a page, or is left out. */
export const isSilent = ({ method }: TwinRequest, { body }: Seen): boolean => method === 'HEAD' || body === 'a page';

/** Returns the same request in a form whose answer states the error. */
export function toldRequest({ method, headers: { accept: _, ...headers }, ...request }: TwinRequest): TwinRequest {
  return { ...request, method: method === 'HEAD' ? 'GET' : method, headers };
}

/** Returns the parts that are the same in both answers. A page is always kept out of caches. */
export function silentParts({ status, headers }: Seen): Omit<Seen, 'body'> {
  const { 'content-type': _, 'cache-control': __, ...others } = headers;
  return { status, headers: others };
}

/** Replaces random ids by the same text, and JWTs by their claims. */
function withoutChance(body: Json): Json {
  const told = (name: string, value: unknown): unknown => {
    const [, payload] = typeof value === 'string' ? (/^eyJ[\w-]+\.([\w-]+)\.[\w-]*$/.exec(value) ?? []) : [];
    if (payload) return withoutChance(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json);
    if (['access_token', 'refresh_token', 'request_uri'].includes(name)) return `a new ${name}`;
    return value;
  };
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, told(name, value)]));
}

/** Returns a cell as the test reads cells of documents: `` `a` `` → `a`. */
const plainCell = (cell: string): string => cell.replace(/^`([^`]*)`$/, '$1');

/** Returns the problems with the table, given the rows of docs/decisions.md. */
export const differenceProblems = (
  table: readonly Pick<Difference, 'what' | 'ours' | 'bare' | 'reason'>[],
  decided: readonly (readonly string[])[],
): readonly string[] => {
  const listed = table.map(({ what, ours, bare, reason }) => [what, ours, bare, reason].map(plainCell).join(' | '));
  const told = decided.map((cells) => cells.join(' | '));
  return [
    ...listed.filter((row) => !told.includes(row)).map((row) => `nobody decided: ${row}`),
    ...told.filter((row) => !listed.includes(row)).map((row) => `decided, and not compared: ${row}`),
    ...listed.filter((row, index) => listed.indexOf(row) !== index).map((row) => `twice: ${row}`),
  ];
};

/** Returns the rest of the difference between two answers, and the rows that explain the other part. */
export function compareWithBare(
  ours: Seen,
  bare: Seen,
  asked: Case,
): { readonly rest: readonly string[]; readonly rows: readonly Difference[] } {
  let left = bare;
  const rows: Difference[] = [];
  for (const difference of differences) {
    if (isDeepStrictEqual(ours, left)) break;
    const settled = difference.settle(left, ours, asked);
    if (!settled || isDeepStrictEqual(settled, left)) continue;
    left = settled;
    rows.push(difference);
  }
  const parts = (Object.keys(ours) as (keyof Seen)[]).filter((part) => !isDeepStrictEqual(ours[part], left[part]));
  return { rest: parts.map((part) => `${part}: ${JSON.stringify(ours[part])} and by oidc-provider ${JSON.stringify(left[part])}`), rows };
}
