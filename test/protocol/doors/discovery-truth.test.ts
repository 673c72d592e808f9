/** Section 4.1, discovery: each value of a list is tried and works. A value that is not in the list is refused. */
import { createHash, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createIdentityProvider } from 'tenant-idp';
import { Agent, authorizeUrl, createPkce, type Json, postForm, signIn } from '../../support/client/agent.js';
import { assertionType } from '../../support/client/assertions.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { CIBA_GRANT, callsTo, cibaClient } from '../../support/client/ciba/call-centre.js';
import { credentialsOf, endpointsOf } from '../../support/client/endpoints.js';
import { createSigningClient } from '../../support/client/request-objects.js';
import { inProduction, lastingOptions, startIdp } from '../../support/service/idp.js';
import { keepLog } from '../../support/service/kept-log.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { redirectUri } from '../../support/service/seed.js';
import { codeOf } from '../../support/service/test-directory.js';
import { type IdpInUse, useIdp } from '../../support/service/use-idp.js';

let document: Json;
let alice: Agent;
const pkce = createPkce();
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };

const discovery = async ({ issuer }: Pick<IdpInUse, 'issuer'>): Promise<Json> =>
  (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const everything = ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token'];

const service = useIdp();
beforeAll(async () => {
  const { scopes_supported } = await discovery(service);
  // The client may have a scope that no longer exists.
  const { apiResources } = service.idp.directory;
  await apiResources.create({ id: 'gone', name: 'Gone', scopes: ['unknown.scope'] });
  await service.idp.directory.clients.create({
    id: 'all',
    name: 'All that there is',
    secret: 'all-secret',
    metadata: {
      redirect_uris: [redirectUri],
      response_types: everything,
      grant_types: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
    },
    allowedScopes: [...scopes_supported, 'unknown.scope'],
  });
  await apiResources.remove('gone');
  document = await discovery(service);
  alice = new Agent();
  await signIn(alice, authorizeUrl(service.issuer, { client_id: 'all', ...challenge }));
});

/** Sends a request of Alice, who is signed in, so that no page is shown. */
const ask = async (parameters: Record<string, string | undefined> = {}): Promise<Record<string, string>> => {
  const answer = await alice.get(
    authorizeUrl(service.issuer, { client_id: 'all', prompt: 'none', nonce: 'n', ...challenge, ...parameters }),
  );
  return answer.location === undefined && answer.status !== 200 ? { error: String(answer.status) } : membersOf(answer);
};
const codeFor = async (parameters: Record<string, string> = {}): Promise<Record<string, string>> => ({
  grant_type: 'authorization_code',
  code: (await ask(parameters)).code ?? '',
  redirect_uri: redirectUri,
  code_verifier: pkce.verifier,
});

test('4.1 response_types_supported: each answers with what it names', async () => {
  expect(document.response_types_supported.length).toBeGreaterThan(3);
  for (const response_type of document.response_types_supported as string[]) {
    const members = await ask({ response_type });
    const parts = ['code', 'id_token', 'access_token'].filter((name) => members[name] !== undefined);
    const named = response_type.split(' ').map((part) => (part === 'token' ? 'access_token' : part));
    expect([response_type, parts.sort()]).toEqual([response_type, named.sort()]);
  }
  for (const response_type of ['none', 'device', 'code none', 'id_token foo'])
    expect([response_type, (await ask({ response_type })).error]).toEqual([response_type, 'unsupported_response_type']);
});

test('4.1 response_modes_supported: each carries the response', async () => {
  const ways: Record<string, (members: Record<string, string>) => boolean> = {};
  for (const mode of document.response_modes_supported)
    ways[mode] = ({ code, response }) => (mode.includes('jwt') ? response : code) !== undefined;
  expect(Object.keys(ways).length).toBeGreaterThan(2);
  for (const [response_mode, isCarried] of Object.entries(ways))
    expect([response_mode, isCarried(await ask({ response_mode }))]).toEqual([response_mode, true]);
  for (const response_mode of ['web_message', 'cookie', 'query.jws'])
    expect([response_mode, (await ask({ response_mode })).error]).toEqual([response_mode, 'unsupported_response_mode']);
});

test('4.1 grant_types_supported: each grants', async () => {
  const { token, refresh } = endpointsOf(service.issuer);
  const grants: Record<string, () => Promise<Json>> = {
    authorization_code: async () => (await token(await codeFor(), 'all')).json,
    refresh_token: async () => {
      const { json } = await token(await codeFor({ scope: 'openid offline_access' }), 'all');
      return (await refresh(json.refresh_token, 'all')).json;
    },
    client_credentials: async () => (await token({ grant_type: 'client_credentials' }, 'all')).json,
    implicit: () => ask({ response_type: 'token id_token' }),
    [CIBA_GRANT]: async () => {
      await service.idp.directory.clients.create(cibaClient('desk', { allowedScopes: ['openid'] }));
      const calls = callsTo(service);
      return (await calls.poll(await calls.approved(), 'desk')).json;
    },
  };
  expect([...document.grant_types_supported].sort()).toEqual(Object.keys(grants).sort());
  for (const name of document.grant_types_supported)
    expect([name, await grants[name]?.()]).toEqual([name, expect.objectContaining({ access_token: expect.any(String) })]);
  for (const grant_type of [
    'password',
    'implicit',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
  ])
    expect([grant_type, (await token({ grant_type }, 'all')).json.error]).toEqual([grant_type, 'unsupported_grant_type']);
});

test('4.1 scopes_supported: each is granted to who may have it', async () => {
  for (const scope of document.scopes_supported as string[]) {
    const asked = [...new Set(['openid', scope])].join(' ');
    expect([scope, await ask({ scope: asked })]).toEqual([scope, expect.objectContaining({ code: expect.any(String), scope: asked })]);
  }
  for (const scope of ['unknown.scope', 'groups', 'OpenID'])
    expect([scope, (await ask({ scope: `openid ${scope}` })).error]).toEqual([scope, 'invalid_scope']);
});

describe('4.1 subject_types_supported', () => {
  const subFor = async (at: IdpInUse, client: string) => {
    const answer = await signIn(new Agent(), authorizeUrl(at.issuer, { client_id: client, ...challenge }));
    if (answer.location === undefined) return undefined;
    const { code = '' } = membersOf(answer);
    const { json } = await endpointsOf(at.issuer).token(
      { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier },
      client,
    );
    return decodeJwt(json.id_token).sub;
  };

  test('4.1 public and pairwise with a salt', async () => {
    expect(document.subject_types_supported).toEqual(['public', 'pairwise']);
    const [shared, own] = [await subFor(service, 'web'), await subFor(service, 'pairwise')];
    expect(own).toEqual(expect.any(String));
    expect(own).not.toBe(shared);
  });

  test('4.1 outside production, a salt is made where none is given: pairwise works', async () => {
    const one = await startIdp({ subjectSalt: undefined } as never);
    try {
      expect((await discovery(one)).subject_types_supported).toEqual(['public', 'pairwise']);
      const [shared, own] = [await subFor(one, 'web'), await subFor(one, 'pairwise')];
      expect(own).toEqual(expect.any(String));
      expect(own).not.toBe(shared);
      expect(await subFor(one, 'pairwise')).toBe(own);
    } finally {
      await one.close();
    }
  });

  test('4.1 in production, public alone without one: a pairwise client is none, and the log says why', () =>
    inProduction(async () => {
      const { logger, lines } = keepLog();
      const one = await createIdentityProvider({
        ...lastingOptions(),
        logger,
        seed: {
          clients: [
            {
              id: 'seeded',
              name: 'Seeded',
              secret: 's'.repeat(32),
              metadata: {
                redirect_uris: ['https://rp.test/cb'],
                grant_types: ['authorization_code', 'client_credentials'],
                subject_type: 'pairwise',
              },
              allowedScopes: ['openid'],
            },
          ],
        },
      });
      const told = lines.filter(({ message }) => message.includes('subjectSalt'));
      expect(told).toEqual([expect.objectContaining({ level: 'info', message: expect.stringContaining('pairwise') })]);
      const started = lines.length;
      const { port } = (await one.listen(0, '127.0.0.1')).address() as AddressInfo;
      const answer = await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`);
      expect(await answer.json()).toMatchObject({ subject_types_supported: ['public'] });
      const query = new URLSearchParams({
        client_id: 'seeded',
        response_type: 'code',
        scope: 'openid',
        redirect_uri: 'https://rp.test/cb',
      });
      const signingIn = await fetch(`http://127.0.0.1:${port}/connect/authorize?${query}`);
      expect([signingIn.status, await signingIn.text()]).toEqual([400, expect.stringContaining('unauthorized_client')]);
      expect(
        lines
          .slice(started)
          .map(({ fields }) => inspect(fields))
          .join(),
      ).toContain('subjectSalt');
      const form = { ...Object.fromEntries(query), grant_type: 'client_credentials', client_secret: 's'.repeat(32) };
      for (const path of ['par', 'token', 'introspect'])
        expect((await postForm(`http://127.0.0.1:${port}/connect/${path}`, { ...form, token: 'x' })).status).toBe(400);
      const metadata = { redirect_uris: ['https://rp.test/cb'], subject_type: 'pairwise' };
      const late = { id: 'late', name: 'Late', secret: 's'.repeat(32), metadata, allowedScopes: ['openid'] };
      await expect(one.directory.clients.create(late)).rejects.toMatchObject({ details: { path: '/metadata/subject_type' } });
      await one.close();
    }));
});

describe('4.1 algorithms', () => {
  const unlisted = ['RS384', 'RS512', 'PS384', 'ES384', 'ES512'];
  const clientOf = async (alg: string, metadata: Record<string, unknown> = {}) => {
    const id = `by-${randomUUID()}`;
    const client = await createSigningClient(id, {
      alg,
      metadata: { grant_types: ['authorization_code', 'client_credentials'], ...metadata },
    });
    await service.idp.directory.clients.create({ ...client.record, allowedScopes: ['openid', 'orders.read'] });
    return client;
  };

  test('4.1 token_endpoint_auth_signing_alg_values_supported, and those of introspection and revocation', async () => {
    const listed = document.token_endpoint_auth_signing_alg_values_supported as string[];
    for (const endpoint of ['introspection', 'revocation'])
      expect(document[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(listed);
    const statusesOf = async (alg: string) => {
      const { id, sign } = await clientOf(alg, { token_endpoint_auth_method: 'private_key_jwt' });
      const statuses = [];
      for (const [path, fields] of [
        ['token', { grant_type: 'client_credentials' }],
        ['introspect', { token: 'x' }],
        ['revocation', { token: 'x' }],
        ['par', { client_id: id, response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...challenge }],
      ] as const) {
        const claims = {
          client_id: undefined,
          response_type: undefined,
          redirect_uri: undefined,
          scope: undefined,
          sub: id,
          jti: randomUUID(),
        };
        const client_assertion = await sign(service.issuer, claims, { typ: undefined });
        const answer = await postForm(`${service.issuer}/connect/${path}`, {
          ...fields,
          client_assertion_type: assertionType,
          client_assertion,
        });
        statuses.push(answer.status);
      }
      return statuses;
    };
    for (const alg of listed) expect([alg, await statusesOf(alg)]).toEqual([alg, [200, 200, 200, 201]]);
    for (const alg of unlisted) expect([alg, await statusesOf(alg)]).toEqual([alg, [401, 401, 401, 401]]);
  });

  test('4.1 request_object_signing_alg_values_supported', async () => {
    const answerTo = async (alg: string) => {
      const { id, sign } = await clientOf(alg);
      const { error = 'none' } = await ask({
        client_id: id,
        request: await sign(service.issuer, { prompt: 'none', ...challenge }),
        nonce: undefined,
        prompt: undefined,
      });
      return error;
    };
    for (const alg of document.request_object_signing_alg_values_supported) expect([alg, await answerTo(alg)]).toEqual([alg, 'none']);
    for (const alg of unlisted) expect([alg, await answerTo(alg)]).not.toEqual([alg, 'none']);
  });

  test.each([
    ['id_token_signing_alg_values_supported', 'id_token_signed_response_alg', 'id_token', { response_type: 'code id_token' }],
    ['authorization_signing_alg_values_supported', 'authorization_signed_response_alg', 'response', { response_mode: 'jwt' }],
  ] as const)('4.1 %s', async (list, member, carried, parameters) => {
    const algOf = async (alg: string) => {
      const id = `gets-${randomUUID()}`;
      const metadata = { redirect_uris: [redirectUri], response_types: ['code', 'code id_token'], [member]: alg };
      const client = { id, name: 'Gets JWTs', secret: 'of-it', metadata, allowedScopes: ['openid'] };
      const refused = await codeOf(service.idp.directory.clients.create(client));
      if (refused !== undefined) return refused;
      const { [carried]: jwt, error } = await ask({ client_id: id, ...parameters });
      return jwt === undefined ? error : decodeProtectedHeader(jwt).alg;
    };
    expect(document[list]).toEqual(['RS256', 'ES256']);
    for (const alg of document[list]) expect(await algOf(alg)).toBe(alg);
    for (const alg of [...unlisted, 'PS256', 'HS256', 'none', 'EdDSA']) expect([alg, await algOf(alg)]).toEqual([alg, 'invalid_record']);
  });

  test('4.1 dpop_signing_alg_values_supported: tokens are bound to the key of the proof', async () => {
    const proofs = async (alg: string) => {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = await exportJWK(publicKey);
      return (htm: string, path: string, claims: object = {}) =>
        new SignJWT({ htm, htu: service.issuer + path, jti: randomUUID(), ...claims })
          .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk })
          .setIssuedAt()
          .sign(privateKey);
    };
    const bought = async (alg: string) => {
      const prove = await proofs(alg);
      const headers = { ...credentialsOf('all'), dpop: await prove('POST', '/connect/token') };
      const { json } = await postForm(`${service.issuer}/connect/token`, await codeFor(), headers);
      return { json, prove };
    };
    for (const alg of document.dpop_signing_alg_values_supported) {
      const { json, prove } = await bought(alg);
      expect([alg, json]).toEqual([alg, expect.objectContaining({ token_type: 'DPoP' })]);
      const token = json.access_token as string;
      const userinfo = async (authorization: string, more: Record<string, string> = {}) =>
        (await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization, ...more } })).status;
      const ath = createHash('sha256').update(token).digest('base64url');
      expect(await userinfo(`DPoP ${token}`, { dpop: await prove('GET', '/connect/userinfo', { ath }) })).toBe(200);
      expect(await userinfo(`Bearer ${token}`)).toBe(401);
      const another = await (await proofs(alg))('GET', '/connect/userinfo', { ath });
      expect(await userinfo(`DPoP ${token}`, { dpop: another })).toBe(401);
      expect((await postForm(`${service.issuer}/connect/userinfo`, { access_token: token })).status).toBe(401);
      const { json: introspected } = await endpointsOf(service.issuer).introspect(token, 'all');
      expect(introspected).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: expect.any(String) } });
    }
    await service.idp.directory.clients.update('all', { accessTokenType: 'jwt' });
    const { json: signed, prove } = await bought('ES256');
    const { json: introspected } = await endpointsOf(service.issuer).introspect(signed.access_token, 'all');
    expect(introspected).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: expect.any(String) } });
    expect(decodeJwt(signed.access_token).cnf).toEqual(introspected.cnf);
    const ath = createHash('sha256').update(signed.access_token).digest('base64url');
    const headers = { authorization: `DPoP ${signed.access_token}`, dpop: await prove('GET', '/connect/userinfo', { ath }) };
    expect((await fetch(`${service.issuer}/connect/userinfo`, { headers })).status).toBe(200);
    expect((await endpointsOf(service.issuer).userinfo(signed.access_token)).status).toBe(401);
    await service.idp.directory.clients.update('all', { accessTokenType: 'reference' });
    for (const alg of ['RS256', 'ES384']) expect([alg, (await bought(alg)).json.error]).toEqual([alg, 'invalid_dpop_proof']);
  });
});

test('RFC 9449 §5.2: a client that registered dpop_bound_access_tokens gets no other', async () => {
  const metadata = { grant_types: ['client_credentials'], dpop_bound_access_tokens: true };
  await service.idp.directory.clients.create({
    id: 'bound',
    name: 'Bound',
    secret: 'bound-secret',
    metadata,
    allowedScopes: ['orders.read'],
  });
  const { status, json } = await endpointsOf(service.issuer).token({ grant_type: 'client_credentials' }, 'bound');
  expect([status, json.error]).toEqual([400, 'invalid_grant']);
});

describe('4.1 what is there, and what is not', () => {
  test('4.1 every address answers, each to its own method', async () => {
    const addresses = Object.entries(document as Record<string, unknown>).filter(([name]) => /_(endpoint|uri|iframe)$/.test(name));
    expect(addresses.length).toBeGreaterThan(9);
    for (const [name, url] of addresses) {
      const statuses = await Promise.all(
        ['GET', 'POST'].map(async (method) => (await fetch(String(url), { method, redirect: 'manual' })).status),
      );
      expect([name, statuses.includes(404), statuses.every((status) => status === 405)]).toEqual([name, false, false]);
    }
  });

  test('4.1 no key of the specification is missing', async () => {
    const keys = `issuer authorization_endpoint token_endpoint userinfo_endpoint end_session_endpoint jwks_uri check_session_iframe
      introspection_endpoint revocation_endpoint pushed_authorization_request_endpoint backchannel_authentication_endpoint
      scope_introspection_endpoint scopes_supported response_types_supported grant_types_supported subject_types_supported
      id_token_signing_alg_values_supported claims_supported`.split(/\s+/);
    expect(keys.filter((key) => document[key] === undefined)).toEqual([]);
  });

  test('4.1 claims_supported: each that is issued is listed, and each that is listed is issued', async () => {
    const scope = (document.scopes_supported as string[]).join(' ');
    const [alice] = await service.idp.directory.accounts.candidates('alice@acme.test');
    await service.idp
      .tenant(alice?.tenant.id ?? '')
      .persons.update(alice?.person.id ?? '', { pictureUrl: 'https://pictures.test/alice.png', locale: 'nb' });
    const { json: tokens } = await endpointsOf(service.issuer).token(await codeFor({ scope, acr_values: 'pwd' }), 'all');
    const { json: userinfo } = await endpointsOf(service.issuer).userinfo(tokens.access_token);
    const issued = new Set([...Object.keys(userinfo), ...Object.keys(decodeJwt(tokens.id_token))]);
    const envelope = ['aud', 'exp', 'iat', 'nonce', 'at_hash'];
    const listed = new Set(document.claims_supported as string[]);
    expect([...issued].filter((name) => !listed.has(name) && !envelope.includes(name))).toEqual([]);
    expect([...listed].filter((name) => !issued.has(name))).toEqual([]);
  });

  test('OpenID Connect Core §5.5: claims_parameter_supported is false: the parameter asks for nothing', async () => {
    expect(document.claims_parameter_supported).toBe(false);
    const claims = JSON.stringify({ id_token: { name: null }, userinfo: { email: null } });
    const { json: tokens } = await endpointsOf(service.issuer).token(await codeFor({ claims }), 'all');
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('name');
    expect((await endpointsOf(service.issuer).userinfo(tokens.access_token)).json).not.toHaveProperty('email');
  });

  test('4.1 ui_locales_supported: the pages are in each of them, and in the first for others', async () => {
    const languageOf = async (ui_locales: string) => {
      const agent = new Agent();
      const { body } = await agent.follow(await agent.get(authorizeUrl(service.issuer, { client_id: 'all', ui_locales, ...challenge })));
      return /<html lang="([^"]*)"/.exec(body)?.[1];
    };
    for (const locale of document.ui_locales_supported) expect(await languageOf(locale)).toBe(locale);
    expect(await languageOf('fr')).toBe(document.ui_locales_supported[0]);
  });
});

test('4.1 of all that, nothing is in the log', () => expectQuietLog(service));
