/**
 * Rules of all impersonations, whichever extension began the impersonation. Clients and API resources with `impersonation: 'refuse'` get no token of an
 * impersonated user.
 */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { Caller } from '../../contract/clients/caller.js';
import type { Directory } from '../../directory/index.js';
import type { OidcParts } from '../context.js';
import type { PinnedLogin } from './login-context.js';
import type { Scopes } from './scopes.js';

/** The client of a token, and its audience. */
interface Wanted {
  readonly client: Caller | undefined;
  /** Ids of API resources in the audience. */
  readonly audiences: Iterable<string>;
}

/** Returns whether the client or API resource refuses the sign-in. */
export const refusesImpersonation = (caller: Caller | undefined, login: Pick<PinnedLogin, 'act'> | undefined): boolean =>
  login?.act !== undefined && caller?.impersonation === 'refuse';

/** Returns whether the client or an API resource refuses a token of the sign-in now. */
export const isRefused = (
  directory: Pick<Directory, 'apiResources'>,
  login: Pick<PinnedLogin, 'act'> | undefined,
  wanted: Wanted,
): Awaitable<boolean> => login?.act !== undefined && findRefusal(directory, wanted).then((refusing) => refusing !== undefined);

/** Returns the client or API resource that refuses impersonated users; undefined if none does. */
async function findRefusal({ apiResources }: Pick<Directory, 'apiResources'>, wanted: Wanted): Promise<Caller | undefined> {
  if (wanted.client?.impersonation === 'refuse') return wanted.client;
  for (const id of new Set(wanted.audiences)) {
    const resource = apiResources.peek(id) ?? (await apiResources.get(id));
    if (resource?.impersonation === 'refuse') return resource;
  }
  return undefined;
}

/** @throws AccessDenied if the client or an API resource refuses impersonated users. */
export async function checkImpersonation(directory: Pick<Directory, 'apiResources'>, wanted: Wanted): Promise<void> {
  const refusing = await findRefusal(directory, wanted);
  if (refusing) throw new errors.AccessDenied(`${refusing.id} does not accept impersonated sign-ins. End the impersonation first.`);
}

/** Returns the API resources of a request, by its scopes and by `resource`. @see RFC 8707 §2 */
export const audiencesAsked = (scopes: Scopes, ctx: KoaContextWithOIDC): readonly string[] => {
  const { params, resourceServers = {} } = ctx.oidc;
  return [...scopes.audiences(ctx, String(params?.scope ?? '')), ...namesOf(params?.resource), ...Object.keys(resourceServers)];
};

/** Returns the names in a parameter with one name or several. */
export const namesOf = (names: unknown): readonly string[] => [names].flat().filter((name): name is string => typeof name === 'string');

interface WithAct {
  readonly act?: PinnedLogin['act'];
  readonly amr: readonly string[];
  readonly endsAt?: Date;
  readonly offline?: false;
}

/** Returns the sign-in with the limits of an impersonation: `imp` in its `amr`, an end within `lifetimes.impersonation`, and nothing offline. */
export function boundImpersonation<SignIn extends WithAct>(signIn: SignIn, { options, now }: Pick<OidcParts, 'options' | 'now'>): SignIn {
  if (!signIn.act) return signIn;
  const { amr, endsAt } = signIn;
  const latest = now() + options.lifetimes.impersonation * 1000;
  return {
    ...signIn,
    amr: amr.includes('imp') ? amr : [...amr, 'imp'],
    endsAt: new Date(Math.min(endsAt?.getTime() ?? latest, latest)),
    offline: false,
  };
}
