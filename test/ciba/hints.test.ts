/** Hints: the user whom a request means. Service specification 4.10. Threats D5, D6. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { createSigningClient } from '../support/client/request-objects.js';
import { testSeed } from '../support/service/seed.js';
import { backToPresent } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';

const signing = await createSigningClient('signing-desk');
const service = useCallCentre(() => ({
  limits: { authenticationRequestsPerMinute: 100_000 },
  seed: {
    ...(withClients(cibaClient('desk'), cibaClient('other'), {
      ...cibaClient('signer', { metadata: { jwks: { keys: [signing.publicKey] } }, trustedLoginHint: true }),
    }) as typeof testSeed),
    tenants: testSeed.tenants.map((tenant, index) =>
      index === 0
        ? {
            ...tenant,
            persons: [
              ...tenant.persons,
              {
                givenName: 'Nils',
                familyName: 'Nord',
                email: 'nils@home.example',
                nationalId: '01018012345',
                user: { userName: 'nils', devPassword: 'nils' },
              },
              { givenName: 'Dan', familyName: 'Dale', email: 'dan@acme.test', user: { userName: 'dan@acme.test', devPassword: 'dan' } },
              { givenName: 'Same', familyName: 'One', email: 'shared@both.example', user: { userName: 'same', devPassword: 'same' } },
            ],
          }
        : {
            ...tenant,
            persons: [
              ...tenant.persons,
              { givenName: 'Same', familyName: 'Two', email: 'shared@both.example', user: { userName: 'same', devPassword: 'same' } },
            ],
          },
    ),
  } as never,
}));
const calls = () => callsTo(service);
afterEach(backToPresent);

let acme: string;
let globex: string;
let dan: string;
beforeAll(async () => {
  acme = (await calls().accountOf('alice@acme.test')).tid;
  globex = (await calls().accountOf('bob@globex.test')).tid;
  const { oid, tid } = await calls().accountOf('dan@acme.test');
  dan = oid;
  await service.idp.directory.forTenant(tid).users.disable(oid);
  for (const tids of [acme, globex])
    await service.idp.directory.clients.create({ ...cibaClient(tids === acme ? 'acme-only' : 'globex-only'), allowedTenants: [tids] });
});

/** Returns the name of the user who gets the request, or the error. */
async function meant(fields: Record<string, string>, client = 'desk'): Promise<string> {
  const { json } = await calls().ask(fields, client);
  if (!json.auth_req_id) return json.error;
  for (const name of ['alice@acme.test', 'alice@globex.test', 'carol@acme.test', 'bob@globex.test', 'nils']) {
    const { oid } = await calls().accountOf(name);
    const [request] = await service.idp.ciba.pendingOf(oid);
    if (request) return name;
  }
  return 'nobody';
}

describe('login_hint', () => {
  test.each([
    ['user name', 'bob@globex.test', 'bob@globex.test'],
    ['user name, however it is written', ' Bob@Globex.TEST', 'bob@globex.test'],
    ['e-mail', 'nils@home.example', 'nils'],
  ])('%s', async (_, hint, who) => {
    expect(await meant({ login_hint: hint })).toBe(who);
  });

  test('D6: the address of one account that is the user name of another means nobody', async () => {
    const { persons } = service.idp.directory.forTenant(globex);
    const namesake = { userName: 'nils@home.example', status: 'active' } as const;
    const { id } = await persons.create({ givenName: 'Nils', familyName: 'Namesake', user: namesake } as never);
    expect(await meant({ login_hint: 'nils@home.example' })).toBe('unknown_user_id');
    laterInTest(601);
    expect(await meant({ login_hint: 'nils@home.example', acr_values: `tenant:${acme}` })).toBe('nils');
    await persons.remove(id);
  });

  test('unique identifier: an oid', async () => {
    expect(await meant({ login_hint: (await calls().accountOf('bob@globex.test')).oid })).toBe('bob@globex.test');
  });

  test('D6: a sub that is shared means nobody without a tenant, and with it the account there', async () => {
    const { oid } = await calls().accountOf('alice@acme.test');
    expect(await meant({ login_hint: oid })).toBe('unknown_user_id');
    expect(await meant({ login_hint: oid, acr_values: `tenant:${globex}` })).toBe('alice@globex.test');
  });

  test('D6: tenant: with a hint that names a linked account means the family’s account there', async () => {
    const { oid } = await calls().accountOf('alice@globex.test');
    expect(await meant({ login_hint: oid })).toBe('alice@globex.test');
    laterInTest(601);
    expect(await meant({ login_hint: oid, acr_values: `tenant:${acme}` })).toBe('alice@acme.test');
  });

  test('R-3: the user name of a parent means the linked account where the client or the tenant narrows to it', async () => {
    const parent = async (userName: string) => {
      const input = { givenName: 'Pia', familyName: 'Parent', user: { userName, status: 'active' } } as const;
      return (await service.idp.directory.forTenant(globex).persons.create(input)).user?.id as string;
    };
    const { oid } = await calls().accountOf('nils');
    const userId = await parent('pia@home.example');
    await service.idp.directory.forTenant(acme).linking.link(oid, { tid: globex, userId });
    expect(await meant({ login_hint: 'pia@home.example' }, 'acme-only')).toBe('nils');
    laterInTest(601);
    expect(await meant({ login_hint: 'pia@home.example', acr_values: `tenant:${acme}` })).toBe('nils');
    // An address that another user of the tenant also has means nobody.
    const { persons } = service.idp.directory.forTenant(acme);
    const namesake = { givenName: 'Pia', familyName: 'Namesake', email: 'pia@home.example', user: { userName: 'pia', status: 'active' } };
    const { id } = await persons.create(namesake as never);
    expect(await meant({ login_hint: 'pia@home.example', acr_values: `tenant:${acme}` })).toBe('unknown_user_id');
    await persons.remove(id);
    await service.idp.directory.forTenant(acme).linking.unlink(oid, userId);
    expect(await meant({ login_hint: 'pia@home.example', acr_values: `tenant:${acme}` })).toBe('unknown_user_id');
    laterInTest(601);
  });

  test('national identity number, with the tenant alone', async () => {
    expect(await meant({ login_hint: '01018012345' })).toBe('unknown_user_id');
    expect(await meant({ login_hint: '01018012345', acr_values: `tenant:${globex}` })).toBe('unknown_user_id');
    expect(await meant({ login_hint: '01018012345', acr_values: `tenant:${acme}` })).toBe('nils');
    laterInTest(601);
    expect(await meant({ login_hint: '01018012345' }, 'acme-only')).toBe('nils');
  });

  test('a name or an address of several is nobody’s without the tenant', async () => {
    for (const hint of ['same', 'shared@both.example']) {
      expect(await meant({ login_hint: hint })).toBe('unknown_user_id');
      expect((await calls().ask({ login_hint: hint, acr_values: `tenant:${acme}` })).status).toBe(200);
      expect((await calls().ask({ login_hint: hint }, 'globex-only')).status).toBe(200);
    }
  });

  const rounds = process.env.PROVE ? 1700 : 4;
  test(`D5: ${rounds * 6} hints of foreign tenants, of unknown, of disabled and of ambiguous users are answered byte by byte alike`, async () => {
    const { oid } = await calls().accountOf('bob@globex.test');
    const answers = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const asked: readonly (readonly [client: string, hint: string])[] = [
        ['globex-only', 'carol@acme.test'],
        ['acme-only', oid],
        ['acme-only', `nobody-${round}@acme.test`],
        ['acme-only', dan],
        ['acme-only', 'dan@acme.test'],
        ['desk', 'same'],
      ];
      for (const [client, hint] of asked) {
        const { status, json } = await calls().ask({ login_hint: hint }, client);
        answers.add(`${status} ${JSON.stringify(json)}`);
      }
    }
    expect([...answers]).toEqual([expect.stringContaining('400 {"error":"unknown_user_id"')]);
  });
});

describe('id_token_hint', () => {
  const tokenOf = async (userName: string, client = 'desk') => {
    const { json } = await calls().poll(await calls().approved({}, client, userName), client);
    return json.id_token as string;
  };

  test('names the account that it was issued for, also when it has expired', async () => {
    const token = await tokenOf('bob@globex.test');
    laterInTest(3600);
    expect(await meant({ id_token_hint: token })).toBe('bob@globex.test');
  });

  test('D6: of a linked account it means that account, not another with its sub', async () => {
    const token = await tokenOf('alice@globex.test');
    laterInTest(700);
    expect(await meant({ id_token_hint: token })).toBe('alice@globex.test');
  });

  test('must have been issued to this client; an altered one, and another JWT, is invalid_request', async () => {
    const token = await tokenOf('bob@globex.test');
    expect(await meant({ id_token_hint: token }, 'other')).toBe('invalid_request');
    expect(await meant({ id_token_hint: `${token.slice(0, -4)}AAAA` })).toBe('invalid_request');
    expect(await meant({ id_token_hint: 'no token' })).toBe('invalid_request');
  });
});

describe('login_hint_token', () => {
  const tokenFor = (claims: Record<string, unknown>, typ = 'login-hint+jwt') =>
    new SignJWT({ iss: 'signer', aud: service.issuer, iat: epochSeconds(), exp: epochSeconds() + 60, jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'own', typ })
      .sign(signing.privateKey);

  test('is of the same format as at authorize, and names the account; with trustedLoginHint too it approves nothing', async () => {
    const { oid } = await calls().accountOf('bob@globex.test');
    expect(await meant({ login_hint_token: await tokenFor({ oid }) }, 'signer')).toBe('bob@globex.test');
    expect((await calls().newestOf('bob@globex.test')).state).toBe('pending');
  });

  test('is good once', async () => {
    const token = await tokenFor({ oid: (await calls().accountOf('bob@globex.test')).oid });
    expect(await meant({ login_hint_token: token }, 'signer')).toBe('bob@globex.test');
    expect(await meant({ login_hint_token: token }, 'signer')).toBe('invalid_request');
  });

  test('expired_login_hint_token once its time is over', async () => {
    const { oid } = await calls().accountOf('bob@globex.test');
    const over = await tokenFor({ oid, iat: epochSeconds() - 120, exp: epochSeconds() - 60 });
    expect(await meant({ login_hint_token: over }, 'signer')).toBe('expired_login_hint_token');
  });

  test('of another client, another type or another audience is invalid_request', async () => {
    const { oid } = await calls().accountOf('bob@globex.test');
    expect(await meant({ login_hint_token: await tokenFor({ oid }) }, 'desk')).toBe('invalid_request');
    expect(await meant({ login_hint_token: await tokenFor({ oid }, 'JWT') }, 'signer')).toBe('invalid_request');
    expect(await meant({ login_hint_token: await tokenFor({ oid, aud: 'https://else.example' }) }, 'signer')).toBe('invalid_request');
  });

  test('of nobody is unknown_user_id', async () => {
    expect(await meant({ login_hint_token: await tokenFor({ oid: randomUUID() }) }, 'signer')).toBe('unknown_user_id');
  });
});
