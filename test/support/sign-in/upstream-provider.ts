/** An upstream OpenID provider with accounts of users: bare oidc-provider on a separate port, with pages that answer for the person. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { Agent, type Answer, formOf } from '../client/agent.js';
import { testKeys } from '../service/keys.js';
import { epochSeconds } from '../time/epoch-seconds.js';

export interface UpstreamProvider {
  readonly issuer: string;
  /** Person whom the pages sign in. Undefined: the person cancels. */
  person: { readonly sub: string; readonly [claim: string]: unknown } | undefined;
  /** Age of the sign-in at the provider, in seconds. */
  age: number;
  /** Received authorization requests, with their parameters in the order of the request. */
  readonly asked: URLSearchParams[];
  /** Requests to the token endpoint. */
  readonly redeemed: Record<string, string>[];
  /** Keys that sign after the next {@link register}. */
  keys: readonly object[];
  /** Answers a request in place of oidc-provider. Returns false if oidc-provider should answer. */
  instead: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined;
  /** Registers our service as a client. Call this function once the issuer of the service is known. */
  register(issuer: string, connectionIds: readonly string[], more?: object): void;
  close(): Promise<void>;
}

export const UPSTREAM_SECRET = 'the secret of tenant-idp at its provider';

/** @param path path of the provider's issuer. @param more configuration of oidc-provider. */
export async function startUpstream(path = '', more: Configuration = {}): Promise<UpstreamProvider> {
  let serve: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
  const server = createServer((req, res) => {
    if (!upstream.instead?.(req, res)) serve?.(req, res);
  });
  server.keepAliveTimeout = 0; // a busy process would end a connection while a request is on its way
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = origin + path;
  const upstream: UpstreamProvider = {
    issuer,
    person: { sub: 'nobody' },
    age: 0,
    asked: [],
    redeemed: [],
    keys: testKeys,
    instead: undefined,
    register(ours, connectionIds, client = {}) {
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: 'tenant-idp',
            client_secret: UPSTREAM_SECRET,
            redirect_uris: connectionIds.map((id) => `${ours}/idp/connections/${id}/callback`),
            post_logout_redirect_uris: connectionIds.map((id) => `${ours}/idp/connections/${id}/signed-out`),
            ...client,
          },
        ],
        jwks: { keys: structuredClone(upstream.keys) as never },
        cookies: { keys: ['of the upstream provider'] },
        features: { devInteractions: { enabled: false } },
        claims: {
          openid: ['sub', 'tid', 'oid', 'hd', 'amr', 'acr'],
          profile: ['given_name', 'family_name', 'name', 'preferred_username', 'groups'],
          email: ['email', 'email_verified'],
        },
        findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...upstream.person, sub }) }),
        interactions: { url: (_ctx, { uid }) => `${path}/person/${uid}` },
        async loadExistingGrant(ctx) {
          const grant = new ctx.oidc.provider.Grant({ clientId: 'tenant-idp', accountId: ctx.oidc.session?.accountId ?? '' });
          grant.addOIDCScope(String(ctx.oidc.params?.scope));
          await grant.save();
          return grant;
        },
        ...more,
      });
      const callback = provider.callback();
      serve = (req, res) => {
        const url = new URL(req.url ?? '/', origin);
        if (path !== '' && req.url?.startsWith(path)) req.url = req.url.slice(path.length) || '/';
        (req as { originalUrl?: string }).originalUrl = url.pathname + url.search;
        if (url.pathname === `${path}/auth`) upstream.asked.push(url.searchParams);
        if (!url.pathname.startsWith(`${path}/person/`)) {
          callback(req, res);
          return;
        }
        const { person, age } = upstream;
        const result =
          person === undefined
            ? { error: 'access_denied', error_description: 'a text of the provider' }
            : { login: { accountId: person.sub, ts: epochSeconds() - age } };
        void provider.interactionFinished(req, res, result as never);
      };
      provider.on('grant.success', (ctx) => void upstream.redeemed.push({ ...(ctx.oidc.params as Record<string, string>) }));
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return upstream;
}

/** Follows the redirect to the provider, and through its pages. Returns the URL of the redirect back. @throws Error without a redirect */
export async function atUpstream(upstream: UpstreamProvider, begun: Answer): Promise<string> {
  if (!begun.location?.startsWith(`${upstream.issuer}/`)) throw new Error(`not sent to the provider: ${begun.status} ${begun.location}`);
  const there = new Agent();
  let answer = await there.get(begun.location);
  while (answer.location?.startsWith(`${upstream.issuer}/`)) answer = await there.get(answer.location);
  if (answer.location !== undefined) return answer.location;
  throw new Error(`the provider showed a page: ${answer.status} ${answer.body}`);
}

/** Presses the button of a connection on a sign-in page. */
export async function press(agent: Agent, page: Answer, idp: string): Promise<Answer> {
  const { action, fields } = formOf(page);
  return agent.follow(await agent.post(action.replace('/identifier', '/method'), { ...fields, idp }));
}
