import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../acr-values.js';
import type { Accounts } from './account.js';
import { isClient } from './clients.js';
import type { OidcParts } from './dependencies.js';
import { recordOf } from './internals.js';
import { sessionOf } from './login-context.js';
import { pseudonymOf } from './pairwise.js';

const { Check, base } = interactionPolicy;

/** When a user has to be asked something before a response can be sent. */
export function createPromptPolicy(parts: OidcParts, accounts: Accounts) {
  const policy = base();
  const login = policy.get('login');
  const consent = policy.get('consent');

  // A session whose account is gone, disabled, or signed in before `notBefore`: sign in again.
  login?.checks.add(
    new Check(
      'account_gone',
      'the account of the session cannot be used',
      'login_required',
      (ctx) => Boolean(sessionOf(ctx)?.accountId) && !ctx.oidc.account,
    ),
  );
  // oidc-provider compares `sub`, which linked accounts share; an account is told by `oid`, which tokens of linked accounts carry.
  login?.checks.remove('id_token_hint');
  login?.checks.add(
    new Check('id_token_hint', 'id_token_hint and the signed-in account do not match', 'login_required', (ctx) => {
      const hint = ctx.oidc.entities.IdTokenHint?.payload;
      return hint !== undefined && !isHintOf(parts, ctx, hint);
    }),
  );
  login?.checks.add(
    new Check('tenant', 'the signed-in account is not of a tenant that may sign in here', 'login_required', async (ctx) => {
      const { accountId } = sessionOf(ctx);
      const account = accountId && ctx.oidc.account ? await accounts.load(ctx, accountId) : undefined;
      const tids = tenantsFor(ctx);
      return account !== undefined && tids !== undefined && !tids.includes(account.tenant.id);
    }),
  );
  // Whether a client needs consent is for its record to say, native or not.
  consent?.checks.remove('native_client_prompt');
  return policy;
}

/** Tenants whose users may sign in: those of the client, and of these the one that `tenant:` asks for. Undefined: any. */
function tenantsFor(ctx: KoaContextWithOIDC): readonly string[] | undefined {
  const record = ctx.oidc.client && recordOf(ctx.oidc.client);
  return allowedTenants(isClient(record) ? record.allowedTenants : undefined, ctx.oidc.params?.acr_values as string | undefined);
}

export function allowedTenants(ofClient: readonly string[] | undefined, acrValues: string | undefined): readonly string[] | undefined {
  const { tenant } = parseAcrValues(acrValues);
  if (tenant === undefined) return ofClient;
  return ofClient === undefined || ofClient.includes(tenant) ? [tenant] : [];
}

/** Whether an ID token is about the account of this session, whatever `sub` they share. */
export function isHintOf(parts: OidcParts, ctx: KoaContextWithOIDC, hint: Record<string, unknown>): boolean {
  const { accountId } = sessionOf(ctx);
  if (!accountId || !ctx.oidc.client) return false;
  const pseudonym = pseudonymOf(parts, ctx.oidc.client);
  return (hint.oid ?? hint.sub) === (pseudonym ? pseudonym(accountId) : accountId);
}
