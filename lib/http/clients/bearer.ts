/** Routes behind an access token. @see RFC 6750 */
import type { Middleware } from 'koa';
import type { AccessToken, BearerState, ReadAccessToken } from '../../contract/bearer.js';
import type { Directory } from '../../directory/index.js';
import { ConfigError, IdpError } from '../../errors.js';
import { challenge } from '../header-values.js';

/** Lets pass who shows a live access token for an API resource, with these scopes. */
export type Bearer = (audience: string, ...scopes: readonly string[]) => Middleware<BearerState>;

/** @see RFC 6750 §2.1 */
const credentials = /^bearer +([\w.~+/-]+=*)$/i;

/** What a guard asks for, and whose routes it is before. */
export interface Guarded {
  readonly extension: string;
  readonly audience: string;
  readonly scopes: readonly string[];
}

export interface BearerParts {
  readonly read: ReadAccessToken;
  readonly directory: Pick<Directory, 'apiResources' | 'issuer'>;
  /** Hears of each guard that is made. */
  readonly guard: (guarded: Omit<Guarded, 'extension'>) => void;
}

export const createBearer =
  ({ read, directory: { apiResources, issuer }, guard }: BearerParts): Bearer =>
  (audience, ...scopes) => {
    guard({ audience, scopes });
    return async function requireAccessToken(ctx, next) {
      const refuse = (error: IdpError, attributes: Readonly<Record<string, string>> = {}): never => {
        ctx.set('WWW-Authenticate', challenge('Bearer', { realm: issuer, ...attributes }));
        throw error;
      };
      ctx.vary('Authorization');
      ctx.set('Cache-Control', 'no-store');
      const { authorization = '' } = ctx.headers;
      // Who brings none is told what is wanted, and of no error. @see RFC 6750 §3.1
      if (!/^bearer(?: |$)/i.test(authorization)) refuse(new IdpError('invalid_token', {}, { cause: 'no access token' }));
      const [, value] = credentials.exec(authorization) ?? [];
      if (value === undefined) return refuse(new IdpError('invalid_request'), { error: 'invalid_request' });
      const token = await read(ctx, value);
      const apiResource = apiResources.peek(audience) ?? (await apiResources.get(audience));
      const cause = whyNot(token, audience, apiResource);
      if (!token || cause !== undefined) return refuse(new IdpError('invalid_token', {}, { cause }), { error: 'invalid_token' });
      if (!scopes.every((scope) => token.scopes.has(scope)))
        refuse(new IdpError('insufficient_scope'), { error: 'insufficient_scope', scope: scopes.join(' ') });
      ctx.state.accessToken = token;
      await next();
    };
  };

type ApiResource = Awaited<ReturnType<Directory['apiResources']['get']>>;

/** Why an access token does not open routes of an API resource; for the log alone, because a caller is told `invalid_token` and no more. */
function whyNot(token: AccessToken | undefined, audience: string, apiResource: ApiResource): string | undefined {
  if (!token) return 'unknown, over, or bound to a key';
  const { audiences, account } = token;
  if (!audiences.includes(audience)) return `for ${audiences.join(', ') || 'no API resource'}`;
  if (apiResource?.status !== 'active') return 'for a disabled API resource';
  // An API resource learns of people of its tenants alone, here as by introspection.
  const isOfItsTenants = !account || (apiResource.allowedTenants?.includes(account.tenant.id) ?? true);
  return isOfItsTenants ? undefined : 'of a tenant that is none of the API resource';
}

/**
 * Whether what guards ask for exists: a name that does not would refuse every token.
 * @throws ConfigError `invalid_options`, with each that does not.
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
