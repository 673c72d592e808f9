/** Issue 46: users change the attributes that the option `attributes.selfService` names, at the page of their profile, and no others. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdpEvent } from 'tenant-idp';
import { problemsOf } from '../../lib/testing/pages.js';
import { tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, formOf, titleOf } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { silentLogger } from '../support/service/test-directory.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';
import { withAttributes } from './schema.js';

const schema = {
  type: 'object',
  properties: {
    costCenter: { title: 'Cost centre', type: 'string' },
    nickname: { title: 'Nickname', type: 'string', minLength: 2, maxLength: 20 },
    slow: { title: 'Slow', type: 'string', pattern: '^(a+)+$' },
    'shoe size/EU': { title: 'Shoe <size>', type: 'number', minimum: 15, maximum: 60 },
    floor: { type: 'integer' },
    lunch: { title: 'Lunch at work', type: 'boolean' },
    colour: { title: 'Colour', enum: ['red', 'blue', 7] },
  },
  required: ['costCenter'],
  additionalProperties: false,
};
const selfService = ['slow', 'nickname', 'shoe size/EU', 'floor', 'lunch', 'colour'];
const names = ['attribute-nickname', 'attribute-shoe%20size%2FEU', 'attribute-floor', 'attribute-lunch', 'attribute-colour'] as const;
const [nickname, shoe, floor, lunch, colour] = names;

const service = useIdp({ attributes: { schema, selfService }, seed: withAttributes(testSeed, { costCenter: 'C-1' }) });
const heard: IdpEvent<'UserProfileChanged'>[] = [];
let acme: string;
let me = { personId: '', oid: '', userName: '' };
let count = 0;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  service.idp.directory.events.on('UserProfileChanged', (event) => void heard.push(event));
});
const create = async (attributes: Record<string, unknown>, by?: 'connection') => {
  count += 1;
  const userName = `person-${count}@attributes.test`;
  const given = Object.keys(attributes).length > 0 ? { attributes } : {};
  const person = await service.idp.tenant(acme).persons.create({ givenName: 'Given', ...given, user: { userName, status: 'active' } }, by);
  const oid = person.user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, 'password');
  me = { personId: person.id, oid, userName };
};
beforeEach(async () => {
  await create({ costCenter: 'C-9' });
  await service.idp.directory.tenants.update(acme, { selfService: null });
});

const url = () => `${service.issuer}/idp/account/profile`;
const open = async (agent: Agent): Promise<Answer> => {
  const page = await agent.follow(await agent.get(url()));
  if (page.url === url()) return page;
  const named = await agent.submit(page, { identifier: me.userName });
  return agent.follow(await agent.submit(named, { password: 'password' }));
};
const stored = async () => (await service.idp.tenant(acme).persons.require(me.personId)).attributes;
const saved = 'Your profile is saved';

/** A text that the pattern of the attribute `slow` refuses after about 2 to the power of 28 steps. */
const refusedSlowly = `${'a'.repeat(28)}!`;

describe('a pattern with nested quantifiers', () => {
  test('does not block the node: a match that takes too long counts as none', async () => {
    const agent = new Agent();
    const page = await open(agent);
    const start = performance.now();
    const refused = await agent.submit(page, { 'attribute-slow': refusedSlowly });
    expect(performance.now() - start).toBeLessThan(5000);
    expect([refused.status, problemsOf(refused)]).toEqual([400, ['This is not allowed here. Enter something else.']]);
    expect(titleOf(await agent.submit(await open(agent), { 'attribute-slow': 'aaaa' }))).toBe(saved);
    expect(await stored()).toEqual({ costCenter: 'C-9', slow: 'aaaa' });
  });

  describe('in a schema that accepts a text without a match', () => {
    const refused = { code: 'invalid_record', details: { path: '/attributes', expected: expect.stringMatching(/within 200 ms/) } };
    const schema = {
      type: 'object',
      properties: {
        all: { type: 'array', items: { anyOf: [{ type: 'string', pattern: '^(a+)+$' }, true] } },
        nickname: { type: 'string', not: { pattern: '(?:a+)+!b|admin' } },
      },
      patternProperties: { '^(?:a+)+!b$|^internal': false },
    };
    const persons = async () => {
      const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', logger: silentLogger, attributes: { schema } });
      return { idp, persons: idp.tenant((await idp.directory.tenants.create({ name: 'Acme' })).id).persons };
    };

    test('matches of one write share the time, so a list of such texts blocks no longer', async () => {
      const { idp, persons: all } = await persons();
      const start = performance.now();
      const attributes = { all: Array.from({ length: 100 }, () => refusedSlowly) };
      await expect(all.create({ givenName: 'A', attributes })).rejects.toMatchObject(refused);
      expect(performance.now() - start).toBeLessThan(5000);
      await expect(all.create({ givenName: 'A', attributes: { all: ['aaaa', 'b'] } })).resolves.toMatchObject({ givenName: 'A' });
      await idp.close();
    });

    test.each([
      ['a refused text after a slow one', { nickname: `${refusedSlowly} admin` }],
      ['a refused name beside a slow one', { [refusedSlowly]: 1, internal: 1 }],
    ])('does not accept %s', async (_, attributes) => {
      const { idp, persons: all } = await persons();
      await expect(all.create({ givenName: 'A', attributes })).rejects.toMatchObject(refused);
      await expect(all.create({ givenName: 'A', attributes: { nickname: 'ann' } })).resolves.toMatchObject({ givenName: 'A' });
      await idp.close();
    });
  });
});

test('hundredths are multiples of 0.01, and parts of them are not', async () => {
  const schema = { type: 'object', properties: { hours: { type: 'number', multipleOf: 0.01 } } };
  const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', logger: silentLogger, attributes: { schema } });
  const { persons } = idp.tenant((await idp.directory.tenants.create({ name: 'Acme' })).id);
  const create = (hours: number) => persons.create({ givenName: 'A', attributes: { hours } });
  for (const hours of [0.07, 4.35, 37.57, -0.29, 1_000_000.01])
    await expect(create(hours)).resolves.toMatchObject({ attributes: { hours } });
  for (const hours of [0.075, 4.3501, 1_000_000.015]) await expect(create(hours)).rejects.toMatchObject({ code: 'invalid_record' });
  await idp.close();
});

describe('texts that are long in percent-encoding', () => {
  const properties = Object.fromEntries(['bio', 'motto', 'note'].map((name) => [name, { title: name, type: 'string' }]));
  const texts = useIdp({
    attributes: { schema: { type: 'object', properties }, selfService: Object.keys(properties) },
    seed: testSeed,
  });

  test('are fixed values beyond their share of the form, and other texts are saved up to theirs', async () => {
    const tid = await tenantNamed(texts.idp, 'Acme');
    const { persons } = texts.idp.tenant(tid);
    const long = '漢'.repeat(3500);
    const person = await persons.create({
      givenName: 'Given',
      attributes: { bio: long, motto: long },
      user: { userName: 'long@attributes.test', status: 'active' },
    });
    await texts.idp.directory.credentials.seedPassword(person.user?.id ?? '', 'password');
    const at = `${texts.issuer}/idp/account/profile`;
    const agent = new Agent();
    const named = await agent.submit(await agent.follow(await agent.get(at)), { identifier: 'long@attributes.test' });
    const page = await agent.follow(await agent.submit(named, { password: 'password' }));
    expect(Object.keys(formOf(page).fields)).toEqual(expect.arrayContaining(['attribute-note']));
    expect(Object.keys(formOf(page).fields)).not.toEqual(expect.arrayContaining(['attribute-bio']));
    expect(titleOf(await agent.submit(page, { givenName: 'Changed' }))).toBe(saved);

    const most = 1600;
    const full = '漢'.repeat(most);
    await persons.update(person.id, { attributes: { bio: full, motto: full } });
    const shown = await agent.follow(await agent.get(at));
    expect(titleOf(await agent.submit(shown, { 'attribute-note': full, familyName: '漢'.repeat(200) }))).toBe(saved);
    expect((await persons.require(person.id)).attributes).toEqual({ bio: full, motto: full, note: full });
    const tooLong = await agent.submit(await agent.follow(await agent.get(at)), { 'attribute-note': 'x'.repeat(2000) });
    expect([tooLong.status, (await persons.require(person.id)).attributes.note]).toEqual([400, full]);
  });
});

describe('the page of the profile', () => {
  test('has a field with the title of the schema for each attribute, and saves what was typed', async () => {
    const agent = new Agent();
    const page = await open(agent);
    expect(formOf(page).fields).toMatchObject(Object.fromEntries(names.map((name) => [name, ''])));
    for (const title of ['Nickname', 'Shoe &lt;size&gt;', 'floor', 'Lunch at work', 'Colour'])
      expect(page.body).toContain(`>${title}</label>`);
    expect(page.body).not.toContain('C-9');
    const typed = { [nickname]: ' Ally ', [shoe]: '38,5', [floor]: '-1', [lunch]: 'false', [colour]: '2' };
    expect(titleOf(await agent.submit(page, typed))).toBe(saved);
    const after = { costCenter: 'C-9', nickname: 'Ally', 'shoe size/EU': 38.5, floor: -1, lunch: false, colour: 7 };
    expect(await stored()).toEqual(after);
    const shown = { [nickname]: 'Ally', [shoe]: '38.5', [floor]: '-1', [lunch]: 'false', [colour]: '2' };
    expect(formOf(await open(agent)).fields).toMatchObject(shown);
    await until(() => heard.some(({ data }) => data.AggregateId === me.oid));
    expect(heard.filter(({ data }) => data.AggregateId === me.oid)).toMatchObject([{ data: { Parts: ['attributes'] } }]);

    const emptied = Object.fromEntries(names.map((name) => [name, '']));
    expect(titleOf(await agent.submit(await open(agent), emptied))).toBe(saved);
    expect(await stored()).toEqual({ costCenter: 'C-9' });
  });

  test.each([
    [nickname, 'x', 'This is not allowed here. Enter something else.'],
    [shoe, '38.000', 'This can be read in two ways. Enter 38000 or 38.0000.'],
    [shoe, '−1,500', 'This can be read in two ways. Enter −1500 or −1,5000.'],
    [shoe, '14', 'This is not allowed here. Enter something else.'],
    [shoe, 'large', 'Enter a number.'],
    [shoe, '1e3', 'Enter a number.'],
    [shoe, '42.00000000000001', 'Enter a number with at most 15 digits.'],
    [floor, '1.5', 'Enter a whole number.'],
    [lunch, 'maybe', 'Choose an entry from the list.'],
    [colour, '3', 'Choose an entry from the list.'],
    [colour, 'red', 'Choose an entry from the list.'],
  ])('refuses in %s the value %.10s beside the field, and saves nothing', async (name, value, problem) => {
    const agent = new Agent();
    const refused = await agent.submit(await open(agent), { givenName: 'Other', [name]: value });
    expect([refused.status, ...problemsOf(refused)]).toEqual([400, problem]);
    expect(refused.body).toContain(`aria-describedby="${name}-problem"`);
    expect(await stored()).toEqual({ costCenter: 'C-9' });
  });

  test('changes no attribute that the option does not name', async () => {
    const agent = new Agent();
    const forged = { 'attribute-costCenter': 'C-0', attributes: '{"costCenter":"C-0"}', costCenter: 'C-0' };
    expect(titleOf(await agent.submit(await open(agent), { ...forged, [nickname]: 'Ally' }))).toBe(saved);
    expect(await stored()).toEqual({ costCenter: 'C-9', nickname: 'Ally' });
  });

  test('keeps an attribute that another writer changed after the page was opened', async () => {
    const agent = new Agent();
    const page = await open(agent);
    const { persons } = service.idp.tenant(acme);
    await persons.update(me.personId, { attributes: { costCenter: 'C-8', nickname: 'Other' } });
    const overtaken = await agent.submit(page, { [nickname]: 'Mine' });
    expect([overtaken.status, formOf(overtaken).fields[nickname]]).toEqual([409, 'Mine']);
    expect(overtaken.body).toContain('Saved now: Other');
    expect(titleOf(await agent.submit(overtaken, {}))).toBe(saved);
    expect(await stored()).toEqual({ costCenter: 'C-8', nickname: 'Mine' });
  });

  test('shows attributes as fixed values if the tenant forbids the change', async () => {
    await service.idp.tenant(acme).persons.update(me.personId, { attributes: { costCenter: 'C-9', lunch: true, colour: 'blue' } });
    await service.idp.directory.tenants.update(acme, { selfService: ['name'] });
    const agent = new Agent();
    const page = await open(agent);
    expect(Object.keys(formOf(page).fields).filter((name) => name.startsWith('attribute-'))).toEqual([]);
    expect(page.body).toMatch(/Lunch at work[\s\S]*?>Yes</);
    expect(page.body).toMatch(/Colour[\s\S]*?>blue</);
    expect(titleOf(await agent.submit(page, { givenName: 'New', [nickname]: 'Ally' }))).toBe(saved);
    expect(await stored()).not.toHaveProperty('nickname');
  });

  test('says whom to ask if an attribute that is not on the page does not match the schema', async () => {
    await create({}, 'connection');
    const agent = new Agent();
    const refused = await agent.submit(await open(agent), { [nickname]: 'Ally' });
    expect(refused.status).toBe(400);
    expect(refused.body).toContain('because other information about you is incomplete. Ask your administrator at Acme.');
    expect(titleOf(await agent.submit(await open(agent), { givenName: 'New' }))).toBe(saved);
    expect(await stored()).toEqual({});
  });

  test('leaves a text of several lines, and a value of another type, as they are', async () => {
    await service.idp.tenant(acme).persons.update(me.personId, { attributes: { costCenter: 'C-9', nickname: 'two\nlines' } });
    const agent = new Agent();
    const page = await open(agent);
    expect(formOf(page).fields).not.toHaveProperty([nickname]);
    expect(titleOf(await agent.submit(page, { [floor]: '3' }))).toBe(saved);
    expect(await stored()).toEqual({ costCenter: 'C-9', nickname: 'two\nlines', floor: 3 });
  });
});

describe('persons.updateOwn', () => {
  test('refuses attributes that the option does not name, and values that the schema refuses', async () => {
    const { persons } = service.idp.tenant(acme);
    const change = (attributes: Record<string, unknown>) => persons.updateOwn(me.personId, { attributes });
    await expect(change({ costCenter: 'C-0' })).rejects.toMatchObject({
      code: 'self_service_refused',
      details: { path: '/attributes/costCenter' },
    });
    await expect(change({ floor: 'x' })).rejects.toMatchObject({ code: 'invalid_record', details: { path: '/attributes/floor' } });
    await service.idp.directory.tenants.update(acme, { selfService: ['locale'] });
    await expect(change({ floor: 1 })).rejects.toMatchObject({ code: 'self_service_refused', details: { path: '/attributes' } });
    await service.idp.directory.tenants.update(acme, { selfService: ['attributes'] });
    expect((await change({ floor: 1 })).attributes).toEqual({ costCenter: 'C-9', floor: 1 });
    expect((await change({ floor: null })).attributes).toEqual({ costCenter: 'C-9' });
  });
});

test.each([
  [['nicknam'], 'attributes.selfService[0]', 'a property of attributes.schema'],
  [['nickname', 'other'], 'attributes.selfService[1]', 'a property of attributes.schema'],
  [['list'], 'attributes.selfService[0]', "a property with the type 'string'"],
  [['mixed'], 'attributes.selfService[0]', "a property with the type 'string'"],
  [['nickname', 'nickname'], 'attributes.selfService', 'an array of different names'],
  [[7], 'attributes.selfService[0]', 'the name of an attribute'],
  ['nickname', 'attributes.selfService', 'an array of different names'],
])('attributes.selfService %j is refused at the start', async (given, path, expected) => {
  const properties = { ...schema.properties, list: { type: 'array' }, mixed: { type: ['string', 'null'] } };
  const attributes = { schema: { ...schema, properties }, selfService: given } as never;
  const starting = createIdentityProvider({ issuer: 'http://localhost:3000', logger: silentLogger, attributes });
  await expect(starting).rejects.toMatchObject({ problems: [{ path, expected: expect.stringContaining(expected) }] });
});
