import type { KoaContextWithOIDC } from 'oidc-provider';
import { type AcrValues, parseAcrValues } from '../../acr-values.js';
import type { Client } from '../../store/records/records.js';
import { perRequest } from '../artifacts/per-request.js';
import { clientOf } from '../clients/clients.js';
import type { OurSession } from './login-context.js';

/** What of an authorization request is settled once its account was looked for. */
export interface SettledRequest {
  readonly client: Client | undefined;
  readonly session: OurSession;
  /** Of the signed-in account; undefined without one that can be used. */
  readonly oid: string | undefined;
  readonly acr: AcrValues;
  /** Tenants whose users may sign in; undefined: any. */
  readonly tids: readonly string[] | undefined;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Read once for the grant and for each check of the prompts, nearly all of which look at it. */
export const settledOf = perRequest((ctx: KoaContextWithOIDC): SettledRequest => {
  const { oidc } = ctx;
  const { account, client: provided, params = {} } = oidc;
  const session = oidc.session as OurSession;
  const client = clientOf(provided);
  const acr = parseAcrValues(params.acr_values as string | undefined);
  return {
    client,
    session,
    oid: account && session.accountId,
    acr,
    tids: tenantsAllowed(client?.allowedTenants, acr),
    params,
  };
});

/** Tenants whose users may sign in: those of the client, and of these the one that `tenant:` asks for. Undefined: any. */
export function tenantsAllowed(ofClient: readonly string[] | undefined, { tenant }: AcrValues): readonly string[] | undefined {
  if (tenant === undefined) return ofClient;
  return ofClient === undefined || ofClient.includes(tenant) ? [tenant] : [];
}
