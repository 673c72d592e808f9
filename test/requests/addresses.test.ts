/** T3-MAIL-INJECT: an address is exactly one address, wherever the service accepts an address. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ConfigError, createIdentityProvider } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { isEmailAddress } from 'tenant-idp/extension';
import type { Person } from '../../lib/store/records/records.js';
import { type AdminClient, administer, adminSeed, adminToken, documented, tenantIds } from '../support/administration/admin.js';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, type Json, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { badAddresses, goodAddresses } from '../support/requests/addresses.js';
import { silentLogger } from '../support/service/test-directory.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, pkce } from '../support/sign-in/passwords.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { until } from '../support/time/until.js';

const directory = memoryDirectory();
const captured = captureMail();
const password = 'long enough for anybody';
let upstream: UpstreamProvider;
const service = useIdp(async () => {
  upstream = await startUpstream();
  const mapping = {
    userName: { claim: 'preferred_username' },
    givenName: { claim: 'given_name' },
    familyName: { claim: 'family_name' },
    email: { claim: 'email', update: true },
  };
  const connection = { id: 'up', name: 'Up', tenant: 'Globex', createUsersIn: 'Globex', issuer: upstream.issuer, mapping };
  return {
    directory,
    mail: captured.mail,
    keys: { encryption: ['what the keys are encrypted with in this test'] },
    seed: {
      ...adminSeed,
      extensions: { connections: [{ ...connection, clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET }] },
    } as never,
    limits: { signInFailures: 100, signInFailuresPerAddress: 100_000, adminRequestsPerMinute: 100_000 },
  };
});
let root: AdminClient;
let acme: string;
beforeAll(async () => {
  upstream.register(service.issuer, ['up']);
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  acme = (await tenantIds(root)).Acme ?? '';
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});
afterAll(() => upstream?.close());

const persons = () => service.idp.tenant(acme).persons;
const fields = { givenName: 'Nina', familyName: 'New' };
let count = 0;
async function newUser() {
  count += 1;
  const email = `person-${count}@acme.test`;
  const person = await persons().create({ ...fields, email, user: { userName: email, emailVerified: true, status: 'active' } });
  await service.idp.directory.credentials.seedPassword(person.user?.id ?? '', 'old');
  return { ...person, email, oid: person.user?.id ?? '' };
}

test('T3-MAIL-INJECT: the rule itself', () => {
  expect(goodAddresses.filter((text) => !isEmailAddress(text))).toEqual([]);
  expect(badAddresses.filter(isEmailAddress)).toEqual([]);
});

describe('the admin API', () => {
  /** Returns the members of a form, by their path, with their schemas. */
  function membersOfForm(document: Json, schema: Json, at = ''): [string, Json][] {
    const { $ref, anyOf = [], allOf = [], properties = {} } = schema ?? {};
    if ($ref) return membersOfForm(document, document.components.schemas[$ref.split('/').at(-1)], at);
    const inner = [...anyOf, ...allOf].flatMap((each: Json) => membersOfForm(document, each, at));
    return [
      ...(anyOf.length + allOf.length > 0 ? [] : [[at, schema] as [string, Json]]),
      ...inner,
      ...Object.entries(properties as Record<string, Json>).flatMap(([name, each]) => membersOfForm(document, each, `${at}/${name}`)),
    ];
  }

  test('T3-MAIL-INJECT: each member of a request that is an address says so, and takes addresses alone', async () => {
    const { document, operations } = await documented(service.issuer);
    const members = operations.flatMap(({ method, path, operation }) =>
      Object.values((operation.requestBody?.content ?? {}) as Record<string, Json>).flatMap(({ schema }) =>
        membersOfForm(document, schema).map(([at, form]) => ({ method, path, at, form })),
      ),
    );
    const named = members.filter(({ at, form }) => /email$/i.test(at) && form.type === 'string' && form.const === undefined);
    const addresses = members.filter(({ form }) => form.format === 'idn-email');
    expect(named).toEqual(addresses);
    const places = [...new Set(addresses.map(({ method, path, at }) => `${method} ${path} ${at}`))].sort();
    expect(places).toEqual([
      'PATCH /tenants/{tid}/persons/{id} /email',
      'PATCH /tenants/{tid}/persons/{id} /secondEmail',
      'POST /tenants/{tid}/persons /email',
      'POST /tenants/{tid}/persons /secondEmail',
    ]);
    const { id } = await newUser();
    for (const place of places) {
      const [method = '', path = '', at = ''] = place.split(' ');
      const send = (address: string) => {
        const body = { ...(method === 'POST' ? fields : {}), [at.slice(1)]: address };
        return root(path.replace('{tid}', acme).replace('{id}', id), { method, body });
      };
      for (const address of badAddresses) {
        const { status, json } = await send(address);
        expect({ place, address, status, json }).toEqual({
          place,
          address,
          status: 422,
          json: expect.objectContaining({ code: 'invalid_record' }),
        });
        expect(JSON.stringify(json)).toContain(`"${at}"`);
      }
      for (const address of goodAddresses) expect([place, address, (await send(address)).status < 300]).toEqual([place, address, true]);
    }
  });
});

describe('in process', () => {
  test('T3-MAIL-INJECT: services of the host refuse an invalid address', async () => {
    const { id, oid } = await newUser();
    const { registration, users, invitations } = service.idp.directory.forTenant(acme);
    for (const email of badAddresses) {
      const refused = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: 'invalid_record' });
      await refused(persons().create({ ...fields, email }));
      await refused(persons().update(id, { email }));
      await refused(invitations.createPerson({ ...fields, email, user: { userName: 'x' } }, { send: true }));
      await refused(service.idp.directory.emailProofs.begin(oid, { requestId: 'r', address: email }));
      expect(await registration.problems({ ...fields, email, password })).toContainEqual({ field: 'email' });
      expect(await service.idp.directory.accounts.withEmail(email, undefined)).toEqual([]);
    }
    expect(await users.findByUserName('x')).toBeUndefined();
  });

  test('T3-MAIL-INJECT: a seed is refused with the place', async () => {
    for (const email of badAddresses) {
      const seed = { tenants: [{ name: 'Acme', persons: [fields, { ...fields, email }, { ...fields, secondEmail: email }] }] };
      const error = await createIdentityProvider({ issuer: 'http://localhost:3000', seed, logger: silentLogger }).then(
        () => undefined,
        (refusal: ConfigError) => refusal,
      );
      expect([email, error?.problems.map(({ path }) => path)]).toEqual([
        email,
        ['seed.tenants[0].persons[1].email', 'seed.tenants[0].persons[2].secondEmail'],
      ]);
    }
  });
});

describe('forms', () => {
  // A single-line field holds no line break, and a form drops invisible characters.
  const typed = badAddresses.filter((address) => !/[\r\n\0\p{Cf}\p{Default_Ignorable_Code_Point}\u3002\uff0e\uff61]/u.test(address));

  test('T3-MAIL-INJECT: “Create account” refuses an invalid address', async () => {
    const agent = new Agent();
    const form = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}` })),
    );
    for (const email of typed.slice(0, 12)) {
      const answer = await agent.submit(form, { ...fields, email, password });
      expect([email, answer.status, titleOf(answer)]).toEqual([email, 400, titleOf(form)]);
    }
    const sent = await agent.submit(form, { ...fields, email: 'ny-blåbær@bücher.test', password });
    expect(sent.status).toBe(200);
    expect((await captured.to('ny-blåbær@bücher.test')).kind).toBe('registration');
  });

  test('T3-MAIL-INJECT: “Change your e-mail address” refuses an invalid address', async () => {
    const { email } = await newUser();
    const agent = new Agent();
    const first = await agent.follow(await agent.get(`${service.issuer}/idp/email`));
    const second = await agent.submit(first, { identifier: email });
    const form = await agent.follow(await agent.submit(second, { password: 'old' }));
    for (const address of typed) {
      const answer = await agent.submit(form, { email: address });
      expect([address, answer.status, titleOf(answer)]).toEqual([address, 400, titleOf(form)]);
    }
    expect((await agent.submit(form, { email: 'новый@пример.рф' })).status).toBe(200);
    expect((await captured.to('новый@пример.рф')).kind).toBe('email-proof');
  });
});

describe('connections', () => {
  const through = async (): Promise<Answer> => {
    const agent = new Agent();
    const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...pkce, acr_values: 'idp:up' })));
    return agent.follow(await agent.get(await atUpstream(upstream, begun)));
  };

  test('T3-MAIL-INJECT: an invalid address is left out and never verified, and the sign-in goes on', async () => {
    const names = { given_name: 'Ann', family_name: 'Other', email_verified: true };
    const globex = service.idp.tenant((await tenantIds(root)).Globex ?? '');
    for (const [index, email] of ['mallory@evil.test,x.acme.test', ...badAddresses.slice(4, 8)].entries()) {
      const userName = `ann-${index}`;
      upstream.person = { sub: userName, ...names, preferred_username: userName, email };
      expect([email, Object.keys(membersOf(await through()))]).toEqual([email, expect.arrayContaining(['code'])]);
      const made = await globex.users.findByUserName(userName);
      expect([made?.email, made?.user.emailVerified]).toEqual([undefined, false]);

      upstream.person = { ...upstream.person, email: `${userName}@acme.test` };
      expect(membersOf(await through())).toHaveProperty('code');
      upstream.person = { ...upstream.person, email };
      expect(membersOf(await through())).toHaveProperty('code');
      // The address that the provider sent before stays.
      expect((await globex.users.findByUserName(userName))?.email).toBe(`${userName}@acme.test`);
    }
  });
});

describe('a stored row that is older than the rule', () => {
  test('T3-MAIL-INJECT: its person is read, signs in and changes, and no mail is sent to the address', async () => {
    const { id, oid, email: userName } = await newUser();
    const rows = directory.collection<Person>('persons');
    const bad = 'mallory@evil.test,x.acme.test';
    await rows.put({ ...((await rows.get(id)) as Person), email: bad, emailKey: bad });
    expect((await root(`/tenants/${acme}/persons/${id}`)).json).toMatchObject({ email: bad });
    expect((await root(`/tenants/${acme}/persons?name=Nina`)).status).toBe(200);
    expect((await root.patch(`/tenants/${acme}/persons/${id}`, { familyName: 'Newer' })).json).toMatchObject({
      familyName: 'Newer',
      email: bad,
    });
    expect((await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, 'old')).location).toContain('code=');

    const mails = captured.mails.length;
    expect((await forget(service.issuer, userName)).status).toBe(200);
    expect((await root.post(`/tenants/${acme}/users/${oid}/password-reset`, {})).json).toMatchObject({ code: 'email_required' });
    await service.idp.directory.forTenant(acme).credentials.setPassword(oid, 'another password that is long');
    await until(async () => (await forget(service.issuer, 'carol@acme.test')).status === 200);
    await captured.to('carol@acme.test');
    expect(captured.mails.slice(mails).map(({ to }) => to)).not.toContain(bad);
  });
});
