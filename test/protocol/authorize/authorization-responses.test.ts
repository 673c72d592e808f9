/**
 * Service specification 4.2, Response: every response type by every response mode and every way of a request, on success and on error.
 * `scope` names the granted scopes, and no error has `scope`.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import { Agent, type Answer, createPkce, type Json, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const types = ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token', 'token'] as const;
const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'] as const;
const ways = ['GET', 'POST', 'PAR', 'request', 'pushed request'] as const;
type Way = (typeof ways)[number];
type Mode = (typeof modes)[number];
let client: SigningClient;
let alice: Agent;
let keys: ReturnType<typeof createRemoteJWKSet>;
const service = useIdp();
beforeAll(async () => {
  client = await createSigningClient('all', { metadata: { response_types: [...types], grant_types: undefined } });
  await service.idp.directory.clients.create(client.record);
  keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const custom = {
  cart: '42',
  'a b': 'c+d &=#%25',
  '"><script>': '<img src=x>',
  æ: '😀\n',
  toString: 'x',
  __custom: '{"custom":{"a":"b"}}',
  empty: '',
};
const state = 'of the client: "<&>\'+ %20æ';
const { challenge } = createPkce();

const isQuery = (mode: Mode) => mode === 'query' || mode === 'query.jwt';
/** Returns whether the response holds tokens, which no query may hold. */
const isFrontChannel = (type: string) => type !== 'code';

async function send(way: Way, agent: Agent, parameters: Record<string, string>): Promise<Answer> {
  const endpoint = `${service.issuer}/connect/authorize`;
  const get = (query: Record<string, string>) => agent.get(`${endpoint}?${new URLSearchParams(query)}`);
  const reference = async (pushed: Record<string, string>) => {
    const { json } = await endpointsOf(service.issuer).par({ client_id: client.id, ...pushed }, client.id);
    return get({ client_id: client.id, request_uri: json.request_uri ?? '' });
  };
  if (way === 'POST') return agent.post(endpoint, parameters);
  if (way === 'PAR') return reference(parameters);
  if (way === 'GET') return get(parameters);
  const request = await client.sign(service.issuer, parameters);
  return way === 'request' ? get({ client_id: client.id, request }) : reference({ request });
}

const parametersOf = (type: string, mode: Mode | undefined, more: Record<string, string>): Record<string, string> => ({
  client_id: client.id,
  response_type: type,
  redirect_uri: redirectUri,
  scope: 'openid profile',
  state,
  nonce: 'n',
  ...(type.includes('code') ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}),
  ...(mode === undefined ? {} : { response_mode: mode }),
  ...custom,
  ...more,
});

/** Returns the members of the response, and their place: form, fragment or query. */
async function responseTo(way: Way, agent: Agent, type: string, mode: Mode | undefined, more: Record<string, string> = {}) {
  const answer = await agent.follow(await send(way, agent, parametersOf(type, mode, more)));
  const { search, hash } = new URL(answer.location ?? redirectUri);
  const place = answer.location === undefined ? 'form' : hash !== '' ? 'fragment' : 'query';
  expect([search !== '', hash !== '']).toEqual([place === 'query', place === 'fragment']);
  // A response in the URL has no body.
  if (place !== 'form') expect(answer.body).toBe('');
  const { response, ...members } = membersOf(answer);
  if (!mode?.includes('jwt')) return { place, members: members as Json };
  expect(members).toEqual({});
  const { payload } = await jwtVerify(response ?? '', keys, { issuer: service.issuer, audience: client.id });
  const { aud: _aud, exp: _exp, ...signed } = payload;
  return { place, members: signed as Json };
}

const placeOf = (mode: Mode, type: string) => {
  if (mode.startsWith('form_post')) return 'form';
  if (mode.startsWith('fragment') || (mode === 'jwt' && isFrontChannel(type))) return 'fragment';
  return 'query';
};
const text = expect.any(String);
const always = { ...custom, state, session_state: text };
const grantedBy = (type: string, mode: Mode) => ({
  ...(type.includes('code') ? { code: text } : {}),
  ...(type.includes('id_token') ? { id_token: text } : {}),
  // In a JWT, `expires_in` is a number.
  ...(/(^| )token/.test(type) ? { access_token: text, token_type: 'Bearer', expires_in: mode.includes('jwt') ? 3600 : '3600' } : {}),
});

describe.each(ways)('4.2 response to a request by %s', (way) => {
  test.each(types)('4.2 %s: what it names, state, scope, session_state, iss and custom parameters, by every mode', async (type) => {
    for (const mode of modes) {
      if (isQuery(mode) && isFrontChannel(type)) continue;
      const { place, members } = await responseTo(way, alice, type, mode);
      expect({ mode, place, members }).toEqual({
        mode,
        place: placeOf(mode, type),
        members: { ...always, ...grantedBy(type, mode), scope: 'openid profile', iss: service.issuer },
      });
    }
  });

  test.each(types)(
    '4.2 %s: an error has error, state, session_state, iss and custom parameters, and no scope, by every mode',
    async (type) => {
      const failures: [string, Agent, Record<string, string>][] = [
        ['login_required', new Agent(), { prompt: 'none' }],
        ['access_denied', alice, { prompt: 'create' }],
      ];
      // An invalid pushed request is refused when it is pushed.
      if (!/PAR|pushed/.test(way)) failures.push(['invalid_scope', alice, { scope: 'openid nonsense' }]);
      for (const mode of modes) {
        if (isQuery(mode) && isFrontChannel(type)) continue;
        for (const [error, agent, more] of failures) {
          const { place, members } = await responseTo(way, agent, type, mode, more);
          const { error_description: _, ...others } = members;
          expect({ mode, place, others }).toEqual({
            mode,
            place: placeOf(mode, type),
            others: { ...always, error, iss: service.issuer },
          });
        }
      }
    },
  );
});

describe('4.2 response_mode', () => {
  test.each(types)('4.2 without one %s is sent in the query if it is a code, else in the fragment', async (type) => {
    const place = isFrontChannel(type) ? 'fragment' : 'query';
    expect(await responseTo('GET', alice, type, undefined)).toMatchObject({ place, members: { ...custom, state } });
    expect(await responseTo('GET', new Agent(), type, undefined, { prompt: 'none' })).toMatchObject({
      place,
      members: { ...custom, state, error: 'login_required' },
    });
  });

  test.each(types.filter(isFrontChannel))('4.2 %s is never sent in a query', async (type) => {
    for (const mode of modes.filter(isQuery)) {
      const { members } = await responseTo('GET', alice, type, mode);
      expect(members).toMatchObject({ ...custom, error: 'invalid_request', state, iss: service.issuer });
      for (const name of ['code', 'id_token', 'access_token']) expect(members).not.toHaveProperty(name);
    }
  });
});
