/** Routes that require an access token. @see RFC 6750, RFC 9449 §7, RFC 8705 §3 */
import type { Middleware } from 'koa';
import type { AccessToken, BearerState, ReadAccessToken, ShownToken } from '../../contract/bearer.js';
import type { Directory } from '../../directory/index.js';
import { ConfigError, IdpError } from '../../errors.js';
import { challenge } from '../header-values.js';

/** Returns middleware that requires a live access token for an API resource, with these scopes. */
export type Bearer = (audience: string, ...scopes: readonly string[]) => Middleware<BearerState>;

/** @see RFC 6750 §2.1, RFC 9449 §7.1 */
const credentials = /^(?:bearer|dpop) +([\w.~+/-]+=*)$/i;
const schemes = /^(?:bearer|(dpop))(?= |$)/i;

/** The requirements of a guard, and the extension whose routes it guards. */
export interface Guarded {
  readonly extension: string;
  readonly audience: string;
  readonly scopes: readonly string[];
}

export interface BearerParts {
  readonly read: ReadAccessToken;
  /** Returns the algorithms by which clients may sign DPoP proofs; empty if DPoP is off. */
  readonly proofAlgorithms: () => readonly string[];
  readonly directory: Pick<Directory, 'apiResources' | 'issuer'>;
  /** Records each guard that is created. */
  readonly guard: (guarded: Omit<Guarded, 'extension'>) => void;
}

export const createBearer =
  ({ read, proofAlgorithms, directory: { apiResources, issuer }, guard }: BearerParts): Bearer =>
  (audience, ...scopes) => {
    guard({ audience, scopes });
    return async function requireAccessToken(ctx, next) {
      const { authorization = '' } = ctx.headers;
      const named = schemes.exec(authorization);
      const scheme: ShownToken['scheme'] = named?.[1] === undefined ? 'Bearer' : 'DPoP';
      const refuse = (error: IdpError, attributes: Attributes = {}): never => {
        ctx.set('WWW-Authenticate', challenges(issuer, proofAlgorithms(), scheme, attributes));
        throw error;
      };
      ctx.vary('Authorization');
      ctx.set('Cache-Control', 'no-store');
      // A request without a token gets a challenge without an error. @see RFC 6750 §3.1
      if (!named) refuse(new IdpError('invalid_token', {}, { cause: 'no access token' }));
      const [, value] = credentials.exec(authorization) ?? [];
      if (value === undefined) return refuse(new IdpError('invalid_request'), { error: 'invalid_request' });
      const token = await read(ctx, { scheme, value });
      if ('refused' in token) return refuse(new IdpError('invalid_token', {}, { cause: token.cause }), { error: token.refused });
      const apiResource = apiResources.peek(audience) ?? (await apiResources.get(audience));
      const cause = whyNot(token, audience, apiResource);
      if (cause !== undefined) return refuse(new IdpError('invalid_token', {}, { cause }), { error: 'invalid_token' });
      if (!scopes.every((scope) => token.scopes.has(scope)))
        refuse(new IdpError('insufficient_scope'), { error: 'insufficient_scope', scope: scopes.join(' ') });
      ctx.state.accessToken = token;
      await next();
    };
  };

type Attributes = Readonly<Record<string, string>>;

/**
 * Returns a challenge for each scheme that the guard accepts. The challenge of the scheme that the request used has the error.
 * @see RFC 9449 §7.1
 */
function challenges(realm: string, algorithms: readonly string[], scheme: ShownToken['scheme'], attributes: Attributes): string[] {
  const takesProofs = algorithms.length > 0;
  const isOfProof = takesProofs && scheme === 'DPoP';
  return [
    challenge('Bearer', { realm, ...(isOfProof ? {} : attributes) }),
    ...(takesProofs ? [challenge('DPoP', { realm, algs: algorithms.join(' '), ...(isOfProof ? attributes : {}) })] : []),
  ];
}

type ApiResource = Awaited<ReturnType<Directory['apiResources']['get']>>;

/** Returns why the routes of an API resource refuse an access token. The reason is only for the log, because the client gets only `invalid_token`. */
function whyNot({ audiences, account }: AccessToken, audience: string, apiResource: ApiResource): string | undefined {
  if (!audiences.includes(audience)) return `for ${audiences.join(', ') || 'no API resource'}`;
  if (apiResource?.status !== 'active') return 'for a disabled API resource';
  // An API resource learns only about users of its tenants, here and by introspection.
  const isOfItsTenants = !account || (apiResource.allowedTenants?.includes(account.tenant.id) ?? true);
  return isOfItsTenants ? undefined : 'of a tenant that is none of the API resource';
}

/**
 * Checks that the API resources and scopes of guards exist, because an unknown name would refuse every token.
 * @throws ConfigError `invalid_options`, with each unknown name.
 */
export async function checkGuards(guards: readonly Guarded[], directory: Directory): Promise<void> {
  if (guards.length === 0) return;
  const audiences = new Set(guards.map(({ audience }) => audience));
  const apiResources = new Set(
    (await Promise.all([...audiences].map(directory.apiResources.get))).flatMap((resource) => resource?.id ?? []),
  );
  const scopes = await directory.existingScopes();
  const problems = guards.flatMap(({ extension, audience, scopes: wanted }) => {
    const guard = `routes behind bearer(${[audience, ...wanted].map((name) => `'${name}'`).join(', ')}) ask for it`;
    const missing = apiResources.has(audience)
      ? wanted.filter((scope) => !scopes.has(scope)).map((scope) => `scope '${scope}'`)
      : [`API resource '${audience}'`];
    return missing.map((name) => ({ path: `extensions.${extension}.routes`, expected: `${name} to exist, because ${guard}` }));
  });
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}
