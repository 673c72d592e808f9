import type { KoaContextWithOIDC } from 'oidc-provider';
import { type RequestedAcr, requestedAcr } from '../../acr-values.js';
import type { Client } from '../../store/records/records.js';
import { perContext } from '../artifacts/per-request.js';
import { clientOf } from '../clients/clients.js';
import type { OurSession } from './login-context.js';
import { tenantsAllowed } from './requirements.js';

/** The parts of an authorization request that do not change after the look-up of its account. */
export interface AuthorizationRequest {
  readonly client: Client | undefined;
  readonly session: OurSession;
  /** Id of the signed-in user; undefined without a usable account. */
  readonly oid: string | undefined;
  readonly acr: RequestedAcr;
  /** Ids of tenants whose users may sign in. Undefined: all. */
  readonly tids: readonly string[] | undefined;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Returns the parts. The parts are read once a request, because the grant and nearly all checks of the prompts need them. */
export const authorizationRequestOf = perContext((ctx: KoaContextWithOIDC): AuthorizationRequest => {
  const { oidc } = ctx;
  const { account, client: provided, params = {} } = oidc;
  const session = oidc.session as OurSession;
  const client = clientOf(provided);
  const acr = requestedAcr(params);
  return {
    client,
    session,
    oid: account && session.accountId,
    acr,
    tids: tenantsAllowed(client?.allowedTenants, acr),
    params,
  };
});
