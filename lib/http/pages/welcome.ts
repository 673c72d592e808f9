/** Page that the service's own server shows at `/` in development. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import Koa from 'koa';
import type { ProtocolPage, ShowPage } from '../../contract/pages/protocol-page.js';
import { responseTypesOf } from '../../directory/index.js';

/** Members of a client that the page shows. */
export interface WelcomeClient {
  readonly id: string;
  readonly name: string;
  readonly allowedScopes?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface WelcomeOptions {
  readonly issuer: string;
  /** The authorization endpoint's path, below the issuer. */
  readonly authorization: string;
  readonly clients: readonly WelcomeClient[];
  readonly showPage: ShowPage;
}

export const isWelcome = ({ method, url = '' }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && url.split('?', 1)[0] === '/';

/** Creates middleware that shows the page for every request. */
export function createWelcome({ issuer, authorization, clients, showPage }: WelcomeOptions): RequestListener {
  const host = new Koa();
  host.use(async (ctx) => {
    const page: ProtocolPage = {
      page: 'welcome',
      issuer,
      discovery: `${issuer}/.well-known/openid-configuration`,
      clients: clients.map((client) => ({ id: client.id, name: client.name, ...beginning(issuer + authorization, client) })),
    };
    ctx.status = 200;
    await showPage(ctx, page);
  });
  return host.callback();
}

/** Returns an authorization request as the client would send it. The client will refuse the response, because the client did not send the request. */
function beginning(endpoint: string, { id, allowedScopes = [], metadata = {} }: WelcomeClient): { signIn?: string } {
  const { redirect_uris: uris } = metadata;
  const [redirectUri] = Array.isArray(uris) ? (uris as unknown[]) : [];
  const mustProve = metadata.require_pushed_authorization_requests === true || metadata.require_signed_request_object === true;
  if (typeof redirectUri !== 'string' || !responseTypesOf(metadata).includes('code') || mustProve) return {};
  const random = () => randomBytes(32).toString('base64url');
  const parameters = {
    client_id: id,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: allowedScopes.filter((scope) => scope !== 'offline_access').join(' '),
    state: random(),
    nonce: random(),
    code_challenge: createHash('sha256').update(random()).digest('base64url'),
    code_challenge_method: 'S256',
  };
  return { signIn: `${endpoint}?${new URLSearchParams(parameters)}` };
}
