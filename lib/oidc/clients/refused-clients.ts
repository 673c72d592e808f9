/** Requests that were refused because their client is unknown, disabled, or did not authenticate. The requests are counted, and logged with the reason. */
import type { Context } from 'koa';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { explainRefusal } from '../../directory/index.js';
import { basicCredentials } from '../../http/clients/basic-credentials.js';
import { RefusedClient } from '../../http/clients/refused-clients.js';
import { perRequest } from '../artifacts/per-request.js';
import type { OidcParts } from '../context.js';
import { assertedClientId } from './assertions.js';

/** Writes the line of a refused request, with the client and the reason. */
type Log = (refused: RefusedClient) => void;

export interface ClientRefusals {
  /** Records a request that oidc-provider refused. Returns whether {@link ClientRefusals.settle} logs the refusal. */
  note(ctx: KoaContextWithOIDC, error: Error, log: Log): boolean;
  /** Counts the wrong secret of a request, or logs its refusal. @throws IdpError `too_many_requests`, which is logged in place of the refusal */
  settle(ctx: Context): Promise<void> | undefined;
}

export function createClientRefusals({ directory, countWrongSecret }: Pick<OidcParts, 'directory' | 'countWrongSecret'>): ClientRefusals {
  const noted = perRequest((): { refusal?: () => Promise<void> } => ({}));

  /** @param log writes the refusal, if the rate limit of wrong secrets is not reached */
  async function settle(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError, log: Log): Promise<void> {
    const presented = presentedBy(ctx);
    const refused = await refusedBy(ctx, error, presented);
    if (error instanceof errors.InvalidClientAuth && guessable.has(presented.way)) {
      await countWrongSecret(ctx, ctx.oidc.client?.clientId ?? presented.id ?? '', refused);
    }
    log(refused);
  }

  async function refusedBy(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError, presented: Presented): Promise<RefusedClient> {
    const { client } = ctx.oidc;
    const { way, secret, id = client?.clientId } = presented;
    const said = error.error_detail ?? error.error_description ?? error.message;
    if (id === undefined) return new RefusedClient(undefined, said);
    if (client) {
      const reason = otherMethod(client, way) ?? (way === 'secret' ? await explainRefusal(directory, client.clientId, secret) : undefined);
      return new RefusedClient(client.clientId, isOfMetadata(error) ? said : (reason ?? said));
    }
    const refused = RefusedClient.of(id, await explainRefusal(directory, id, secret));
    return isOfMetadata(error) ? new RefusedClient(refused.client, said) : refused;
  }

  return {
    note(ctx, error, log) {
      if (!isOfClient(error)) return false;
      noted(ctx).refusal = () => settle(ctx, error, log);
      return true;
    },
    settle: (ctx) => noted(ctx).refusal?.(),
  };
}

const isOfMetadata = (error: Error): boolean => error instanceof errors.InvalidClientMetadata;
const isOfClient = (error: Error): error is errors.OIDCProviderError =>
  error instanceof errors.InvalidClientAuth || error instanceof errors.InvalidClient || isOfMetadata(error);

type Way = 'secret' | 'assertion' | 'attestation' | 'other' | 'none';

/** Credentials whose refusals count towards the rate limit. */
const guessable: ReadonlySet<Way> = new Set(['secret', 'assertion', 'other']);

/** The credentials of a request, whether or not they are valid. */
interface Presented {
  readonly way: Way;
  readonly id?: string | undefined;
  readonly secret?: string | undefined;
}

function presentedBy({ headers, oidc }: KoaContextWithOIDC): Presented {
  const { body, params, entities } = oidc;
  const { client_secret: secret, client_assertion: assertion } = (body ?? {}) as Record<string, string | undefined>;
  const id = textOf(body?.client_id) ?? textOf(params?.client_id) ?? textOf(entities.IdTokenHint?.payload.aud);
  if (assertion) return { way: 'assertion', id: assertedClientId(assertion) };
  if (secret) return { way: 'secret', id, secret };
  const { authorization } = headers;
  if (authorization === undefined) return { way: 'oauth-client-attestation' in headers ? 'attestation' : 'none', id };
  const basic = basicCredentials(authorization);
  return basic ? { way: 'secret', id: decoded(basic.id), secret: decoded(basic.secret) } : { way: 'other', id };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Returns the decoded text, or the text itself if it is malformed, which oidc-provider refuses. @see RFC 6749 §2.3.1 */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

const ways: Readonly<Record<string, Way>> = {
  client_secret_basic: 'secret',
  client_secret_post: 'secret',
  private_key_jwt: 'assertion',
  none: 'none',
};
const sent: Readonly<Partial<Record<Way, string>>> = { secret: 'a secret', assertion: 'a client assertion', none: 'no credentials' };

/** Returns the reason if a request has credentials of another kind than the client registered. */
function otherMethod({ clientAuthMethod: method }: Client, way: Way): string | undefined {
  const expected = ways[String(method)];
  if (expected === undefined || expected === way || sent[way] === undefined) return undefined;
  return `token_endpoint_auth_method of the client is ${method}, and the request has ${sent[way]}`;
}
