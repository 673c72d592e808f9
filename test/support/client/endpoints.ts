import { present } from '../../../lib/present.js';
import { testSeed } from '../service/seed.js';
import { basic, type Json, postForm } from './agent.js';
import { jsonOf, send } from './send.js';

const seeded = new Map<string, string | undefined>(
  [...testSeed.clients, ...testSeed.apiResources].map((caller) => [caller.id, 'secret' in caller ? caller.secret : undefined]),
);

/** Returns the Authorization header of a client or API resource with its secret in the seed, else with `<id>-secret`. */
export const credentialsOf = (id: string): Record<string, string> => ({
  authorization: basic(id, seeded.get(id) ?? `${id}-secret`),
});

/** Returns calls of the OAuth endpoints by a caller with a secret. */
export function endpointsOf(issuer: string) {
  const post =
    (path: string) =>
    (fields: Record<string, string>, caller = 'web') =>
      postForm(`${issuer}/connect/${path}`, fields, credentialsOf(caller));
  const token = post('token');
  return {
    token,
    refresh: (refreshToken: string, caller?: string) => token({ grant_type: 'refresh_token', refresh_token: refreshToken }, caller),
    clientCredentials: async (scope?: string, caller = 'service'): Promise<Json> =>
      (await token({ grant_type: 'client_credentials', ...present({ scope }) }, caller)).json,
    introspect: (value: string, caller?: string) => post('introspect')({ token: value }, caller),
    revoke: (value: string, caller?: string) => post('revocation')({ token: value }, caller),
    par: post('par'),
    async userinfo(accessToken: string): Promise<{ status: number; headers: Headers; json: Json }> {
      const { status, headers, text } = await send(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } });
      return { status, headers, json: jsonOf(text) };
    },
  };
}
export type Endpoints = ReturnType<typeof endpointsOf>;

/** Whether introspection returns to a permitted caller that the token is active. */
export const isActive = async (endpoints: Endpoints, token: string, caller?: string): Promise<boolean> =>
  (await endpoints.introspect(token, caller)).json.active;
