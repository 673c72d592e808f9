/** Clients and API resources, authenticated by their secret. @see RFC 6749 §2.3.1 */
import type { Context, Middleware } from 'koa';
import type { Directory } from '../directory/index.js';
import { IdpError } from '../errors.js';
import type { CallerState } from '../extension.js';
import { parametersOf } from './parameters.js';

interface Credentials {
  readonly id: string | undefined;
  readonly secret: string | undefined;
}

/**
 * Lets pass who sends an id and a live secret, by HTTP Basic or in a form that was read before, and puts it on `ctx.state.caller`.
 * @throws IdpError `invalid_client`; `invalid_request` for credentials in the query, or of two kinds.
 */
export function clientAuth({ authenticate }: Pick<Directory, 'authenticate'>, realm: string): Middleware<CallerState> {
  return async function authenticateClient(ctx, next) {
    const { id, secret } = credentialsOf(ctx as Context);
    const caller = id !== undefined && secret !== undefined ? await authenticate(id, secret) : undefined;
    if (!caller) {
      ctx.set('WWW-Authenticate', `Basic realm="${realm}", charset="UTF-8"`);
      throw new IdpError('invalid_client');
    }
    ctx.state.caller = caller;
    return next();
  };
}

function credentialsOf(ctx: Context): Credentials {
  // What is in a URL is in logs.
  for (const name of ['client_id', 'client_secret', 'client_assertion'])
    if (ctx.query[name] !== undefined) throw new IdpError('invalid_request');
  const { client_id: id, client_secret: secret } = parametersOf(ctx, ['client_id', 'client_secret']);
  const { authorization } = ctx.headers;
  if (authorization === undefined) return { id, secret };
  const basic = basicCredentials(authorization);
  if (secret !== undefined || (id !== undefined && id !== basic.id)) throw new IdpError('invalid_request');
  return basic;
}

/** Each half is form-encoded before they are joined. */
function basicCredentials(authorization: string): Credentials {
  const [, encoded = ''] = /^basic +([a-z0-9+/]+=*)$/i.exec(authorization) ?? [];
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return { id: decoded(id), secret: decoded(secret) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ')) || undefined;
  } catch {
    throw new IdpError('invalid_request');
  }
}
