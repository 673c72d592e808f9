/** Issue 46: every write of a person's attributes has to match the schema of the option `attributes`. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { defineClaims } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, administer, adminSeed, adminToken, documented, tenantIds } from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, obtainTokens } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { atUpstream, startUpstream, UPSTREAM_SECRET, type UpstreamProvider } from '../support/sign-in/upstream-provider.js';
import { type Attributes, schema, withAttributes } from './schema.js';

const hr = defineClaims<Attributes>()({
  name: 'hr',
  claims: {
    cost_center: { scope: 'profile', type: 'string', description: 'Cost centre', value: ({ person }) => person.attributes.costCenter },
  },
});
const seed = withAttributes(adminSeed, { costCenter: 'C-1' });
const path = (tid: string, id = '') => `/tenants/${tid}/persons${id && `/${id}`}`;

/** Attributes that the schema refuses, with the place and the expectation that the answer names. */
const refused: readonly (readonly [attributes: object, pointer: string, expected: string])[] = [
  [{}, '/costCenter', 'a value, which is required'],
  [{ costCenter: 7 }, '/costCenter', 'a string'],
  [{ costCenter: 'C-x' }, '/costCenter', "a string that matches '^C-\\d+$'"],
  [{ costCenter: 'C-1234567890' }, '/costCenter', 'at most 10 characters'],
  [{ costCenter: 'C-1', desk: 0 }, '/desk', 'a number of at least 1'],
  [{ costCenter: 'C-1', desk: 1.5 }, '/desk', 'a whole number'],
  [{ costCenter: 'C-1', since: '2026-02-30' }, '/since', "a text of the format 'date'"],
  [{ costCenter: 'C-1', colour: 'green' }, '/colour', 'one of "red", "blue"'],
  [{ costCenter: 'C-1', 'a/b~c': 'yes' }, '/a~1b~0c', 'true or false'],
  [{ costCenter: 'C-1', costCentre: 'C-1' }, '/costCentre', 'no member of this name'],
  [{ costCenter: 'C-1', constructor: 'x' }, '/constructor', 'another name'],
  [{ costCenter: 'C-1', deputy: { number: '1', deputy: {} } }, '/deputy/deputy/number', 'a value, which is required'],
];

describe('with attributes.schema', () => {
  let upstream: UpstreamProvider;
  const service = useIdp(async () => {
    upstream = await startUpstream();
    const connection = { clientId: 'tenant-idp', clientSecret: UPSTREAM_SECRET, createUsersIn: 'Globex' };
    return {
      attributes: { schema },
      claims: [hr],
      seed: { ...seed, extensions: { connections: [{ ...connection, id: 'up', name: 'Up', issuer: upstream.issuer }] } } as never,
    };
  });
  let root: AdminClient;
  let tid: string;
  let globex: string;
  beforeAll(async () => {
    upstream.register(service.issuer, ['up']);
    root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    ({ Acme: tid = '', Globex: globex = '' } = await tenantIds(root));
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
  });
  afterAll(() => upstream?.close());
  const persons = () => service.idp.tenant(tid).persons;
  const count = async () => (await persons().list({ limit: 200 })).items.length;

  test.each(refused)('the admin API refuses a new person with %j', async (attributes, pointer, expected) => {
    const before = await count();
    const { status, json } = await root.post(path(tid), { givenName: 'Dora', attributes });
    expect([status, json.code, json.errors]).toEqual([422, 'invalid_record', [{ pointer: `/attributes${pointer}`, expected }]]);
    expect(await count()).toBe(before);
  });

  test('the admin API refuses a new person without an attribute that is required, with an invitation too', async () => {
    const before = await count();
    const invited = { email: 'd@acme.test', user: { userName: 'd@acme.test' }, invitation: { send: false } };
    for (const members of [{}, invited]) {
      const { status, json } = await root.post(path(tid), { givenName: 'Dora', ...members });
      expect([status, json.errors]).toEqual([422, [{ pointer: '/attributes/costCenter', expected: 'a value, which is required' }]]);
    }
    expect(await count()).toBe(before);
    expect((await service.idp.tenant(tid).invitations.list()).items).toEqual([]);
    const { status } = await root.post(path(tid), { givenName: 'Dora', ...invited, attributes: { costCenter: 'C-2' } });
    expect(status).toBe(201);
  });

  test('a merge patch is checked after the merge, and one without attributes is not', async () => {
    const { json, status } = await root.post(path(tid), { givenName: 'Emil', attributes: { costCenter: 'C-3', deputy: { number: '1' } } });
    expect(status).toBe(201);
    const at = path(tid, json.id);
    const patch = async (attributes: object) => (await root.patch(at, { attributes })).json;
    expect((await patch({ desk: 4, deputy: { deputy: { number: '2' } } })).attributes).toEqual({
      costCenter: 'C-3',
      desk: 4,
      deputy: { number: '1', deputy: { number: '2' } },
    });
    expect((await patch({ costCenter: null })).errors).toEqual([
      { pointer: '/attributes/costCenter', expected: 'a value, which is required' },
    ]);
    expect((await patch({ deputy: { number: null } })).errors).toMatchObject([{ pointer: '/attributes/deputy/number' }]);
    expect((await patch({ desk: null })).attributes).not.toHaveProperty('desk');
    expect((await root.patch(at, { familyName: 'Ek' })).json.attributes).toMatchObject({ costCenter: 'C-3' });
  });

  test.each(refused)('methods of the host refuse %j', async (attributes, pointer) => {
    const error = { code: 'invalid_record', details: { path: `/attributes${pointer}` } };
    const { id } = (await persons().list({ limit: 1 })).items[0] ?? { id: '' };
    const given = { attributes } as { attributes: Record<string, unknown> };
    await expect(persons().create({ givenName: 'Dora', ...given })).rejects.toMatchObject(error);
    await expect(persons().update(id, given)).rejects.toMatchObject(error);
  });

  test('a person who registers has no attributes', async () => {
    const agent = new Agent();
    const pkce = createPkce();
    const create = { prompt: 'create', acr_values: `tenant:${tid}`, code_challenge: pkce.challenge, code_challenge_method: 'S256' };
    const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, create)));
    const fields = { givenName: 'Frida', familyName: 'Ek', email: 'frida@acme.test', password: 'long enough for anybody' };
    expect(membersOf(await agent.follow(await agent.submit(page, fields)))).toHaveProperty('code');
    const person = await service.idp.tenant(tid).users.findByUserName('frida@acme.test');
    expect(person?.attributes).toEqual({});
    expect((await root(path(tid, person?.id))).json.attributes).toEqual({});
  });

  test('a person of a connection has no attributes, and signs in again', async () => {
    upstream.person = { sub: 'gustav', email: 'gustav@globex.test', email_verified: true, given_name: 'Gustav' };
    for (const _ of ['first', 'second']) {
      const agent = new Agent();
      const asked = { acr_values: 'idp:up', code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
      const begun = await agent.follow(await agent.get(authorizeUrl(service.issuer, asked)));
      const answer = await agent.follow(await agent.get(await atUpstream(upstream, begun)));
      expect(membersOf(answer)).toHaveProperty('code');
    }
    const { items } = await service.idp.tenant(globex).persons.list({ limit: 200 });
    expect(items.find(({ givenName }) => givenName === 'Gustav')?.attributes).toEqual({});
  });

  test('a claim plugin with the type of the schema reads an attribute', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid profile' });
    const answer = await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect(await answer.json()).toMatchObject({ cost_center: 'C-1' });
  });

  test('the OpenAPI document has the schema, and is valid by two validators', async () => {
    const { document } = await documented(service.issuer);
    expect(await validate(structuredClone(document))).toMatchObject({ valid: true });
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    const { schemas } = document.components;
    const { $schema: _, $id: __, ...rest } = schema;
    const at = '#/components/schemas/PersonAttributes';
    const pointed = JSON.parse(JSON.stringify(rest).replaceAll('"#/', `"${at}/`));
    expect(schemas.PersonAttributes).toEqual(pointed);
    expect(schemas.Person.properties.attributes).toMatchObject({ anyOf: [{ $ref: at }, { type: 'object', maxProperties: 0 }] });
    const bodyOf = (url: string, method: string, type: string) => document.paths[url][method].requestBody.content[type].schema;
    const list = '/tenants/{tid}/persons';
    expect(bodyOf(list, 'post', 'application/json').properties.attributes).toEqual({ $ref: at });
    const { properties } = bodyOf(`${list}/{id}`, 'patch', 'application/merge-patch+json').properties.attributes;
    expect(Object.keys(properties)).toEqual(['costCenter', 'desk', 'since', 'a/b~c']);
  });

  test('nothing is logged', () => expectQuietLog(service));
});

describe('rows that were stored before the schema', () => {
  const directory = memoryDirectory();
  let before: TestIdp;
  let after: TestIdp;
  let root: AdminClient;
  let tid: string;
  let id: string;
  beforeAll(async () => {
    before = await startIdp({ directory, seed: adminSeed });
    after = await startIdp({ directory, seed: {}, attributes: { schema } });
    root = administer(after.issuer, await adminToken(after.issuer, 'root'));
    ({ Acme: tid = '' } = await tenantIds(root));
    const attributes = { costCentre: 'C-1', desk: 4 };
    ({ id } = await before.idp.tenant(tid).persons.create({ givenName: 'Dora', attributes }));
  });
  afterAll(() => Promise.all([before?.close(), after?.close()]));

  test('are read and changed, and their attributes match the schema from their next write on', async () => {
    const at = `${after.issuer}/idp/api/v1${path(tid, id)}`;
    const headers = {
      authorization: `Bearer ${await adminToken(after.issuer, 'root')}`,
      'content-type': 'application/merge-patch+json',
    };
    // The document does not describe these attributes, so the client of the other tests would refuse the answers.
    const send = async (body?: object) => {
      const answer = await fetch(at, { headers, ...(body && { method: 'PATCH', body: JSON.stringify(body) }) });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    expect(await send()).toMatchObject({ status: 200, json: { attributes: { costCentre: 'C-1', desk: 4 } } });
    expect(await send({ familyName: 'Berg' })).toMatchObject({ status: 200, json: { familyName: 'Berg', attributes: { desk: 4 } } });
    expect(await send({ attributes: { desk: 5 } })).toMatchObject({ status: 422, json: { code: 'invalid_record' } });
    expect(await send({ attributes: { costCentre: null, costCenter: 'C-1' } })).toMatchObject({
      status: 200,
      json: { attributes: { costCenter: 'C-1', desk: 4 } },
    });
    expect((await root(path(tid, id))).status).toBe(200);
  });

  test('are in the export of the person', async () => {
    const { id: other } = await before.idp.tenant(tid).persons.create({ givenName: 'Emil', attributes: { old: true } });
    expect((await after.idp.tenant(tid).persons.export(other)).person.attributes).toEqual({ old: true });
  });
});

describe('without the option', () => {
  const service = useIdp({ seed: adminSeed });

  test('attributes are any object, in the document too', async () => {
    const root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    const { Acme: tid = '' } = await tenantIds(root);
    const { status, json } = await root.post(path(tid), { givenName: 'Dora', attributes: { any: ['thing'] } });
    expect([status, json.attributes]).toEqual([201, { any: ['thing'] }]);
    const { document } = await documented(service.issuer);
    expect(Object.keys(document.components.schemas).filter((name) => name.includes('Attributes'))).toEqual([]);
  });
});
