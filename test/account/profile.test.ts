/** Section “Profile”: changes that the tenant allows its users, changes in two tabs, and notices of a change. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type IdpEvent, locales } from 'tenant-idp';
import { problemsOf } from '../../lib/testing/pages.js';
import { adminClient, administer, adminScopes, adminSeed, adminToken } from '../support/administration/admin.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { mailTo } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const service = useIdp({
  seed: { ...adminSeed, clients: [...adminSeed.clients, adminClient('everything', ['*'], adminScopes)] } as never,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
});
const heard: IdpEvent<'UserProfileChanged'>[] = [];
let acme: string;
let globex: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
  service.idp.directory.events.on('UserProfileChanged', (event) => void heard.push(event));
});

const url = () => `${service.issuer}/idp/account/profile`;
const languageOf = ({ body }: Answer) => /<html lang="(\w+)"/.exec(body)?.[1];
const { challenge } = createPkce();

let count = 0;
let me = { tid: '', personId: '', oid: '', userName: '' };
const create = async (tid: string, more: object = {}) => {
  count += 1;
  const userName = `person-${count}@profile.test`;
  const person = await service.idp.tenant(tid).persons.create({
    givenName: 'Given',
    familyName: 'Family',
    email: userName,
    phoneNumber: '+47 1000',
    ...more,
    user: { userName, status: 'active' },
  });
  const oid = person.user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, 'password');
  return { tid, personId: person.id, oid, userName };
};
beforeEach(async () => {
  me = await create(acme);
  await service.idp.directory.tenants.update(acme, { selfService: null, locale: null });
});
afterEach(backToPresent);

const open = async (agent: Agent): Promise<Answer> => {
  const page = await agent.follow(await agent.get(url()));
  if (page.url === url()) return page;
  const named = await agent.submit(page, { identifier: me.userName });
  return agent.follow(await agent.submit(named, { password: 'password' }));
};
const personNow = (of = me) => service.idp.tenant(of.tid).persons.require(of.personId);
const allow = (...selfService: ('name' | 'phone' | 'locale')[]) => service.idp.directory.tenants.update(acme, { selfService });
const eventsOf = (oid: string) => heard.filter(({ data }) => data.AggregateId === oid);

describe('the form', () => {
  test('changes the name and the language; the page, the event and the mail say so', async () => {
    const agent = new Agent();
    const page = await open(agent);
    expect([titleOf(page), languageOf(page)]).toEqual(['Profile', 'en']);
    expect(formOf(page).fields).toMatchObject({ givenName: 'Given', familyName: 'Family', locale: '' });
    expect(formOf(page).fields).not.toHaveProperty('phoneNumber');
    const saved = await agent.submit(page, { givenName: ' Ærlig ', familyName: 'Sørensen', locale: 'nb' });
    // The page has the new language immediately.
    expect([saved.status, titleOf(saved), languageOf(saved)]).toEqual([200, 'Profilen din er lagret', 'nb']);
    expect(await personNow()).toMatchObject({ givenName: 'Ærlig', familyName: 'Sørensen', locale: 'nb', phoneNumber: '+47 1000' });
    await until(() => eventsOf(me.oid).length > 0);
    expect(eventsOf(me.oid)).toMatchObject([
      { tid: acme, actor: `user:${me.oid}`, data: { AggregateId: me.oid, Parts: ['name', 'locale'] }, requestid: expect.any(String) },
    ]);
    const mail = await mailTo(captured, me.userName, 'account-changed');
    expect(mail).toMatchObject({ locale: 'nb', subject: 'Profilen din er endret' });
    expect(mail.text).toContain('I profilen din hos Acme er dette endret: navn og språk.');
    for (const value of ['Ærlig', 'Sørensen', 'Given', '1000']) expect(mail.text).not.toContain(value);
  });

  test('takes twenty changes in an hour; a form that changes nothing, or is refused, is no change', async () => {
    const agent = new Agent();
    let page = await open(agent);
    expect((await agent.submit(page, {})).status).toBe(200);
    expect((await agent.submit(page, { givenName: 'x'.repeat(201) })).status).toBe(400);
    for (let count = 0; count < 20; count += 1) {
      expect([count, (await agent.submit(page, { givenName: `Name ${count}` })).status]).toEqual([count, 200]);
      page = await open(agent);
    }
    const refused = await agent.submit(page, { givenName: 'One more' });
    expect([refused.status, ...problemsOf(refused)]).toEqual([
      429,
      expect.stringMatching(/^You changed your profile many times\. Try again in \d+ min\.$/),
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(formOf(refused).fields).toMatchObject({ givenName: 'One more' });
    expect((await personNow()).givenName).toBe('Name 19');
    await until(() => eventsOf(me.oid).length === 20);
    passTime(3_601);
    expect((await agent.submit(await open(agent), { givenName: 'Later' })).status).toBe(200);
  });

  test('B23: is evaluated each time that it is sent: a second press changes nothing, and after a change back the form changes it again', async () => {
    const agent = new Agent();
    const page = await open(agent);
    const renamed = { givenName: 'Renamed' };
    const presses = await Promise.all([agent.submit(page, renamed), agent.submit(page, renamed)]);
    for (const pressed of [...presses, await agent.submit(page, renamed)])
      expect([pressed.status, titleOf(pressed)]).toEqual([200, 'Your profile is saved']);
    await agent.submit(await open(agent), { givenName: 'Given' });
    expect(titleOf(await agent.submit(page, renamed))).toBe('Your profile is saved');
    expect((await personNow()).givenName).toBe('Renamed');
    await until(() => eventsOf(me.oid).length === 3);
  });

  test('that changes nothing writes nothing', async () => {
    const agent = new Agent();
    const before = await personNow();
    expect(titleOf(await agent.submit(await open(agent), {}))).toBe('Your profile is saved');
    expect((await personNow()).updatedAt).toEqual(before.updatedAt);
    expect(eventsOf(me.oid)).toEqual([]);
  });

  test('refuses what is no name, number or language, beside the field, and keeps what was typed', async () => {
    await allow('name', 'phone', 'locale');
    const agent = new Agent();
    const page = await open(agent);
    const before = await personNow();
    const typed = { givenName: 'x'.repeat(201), familyName: 'New', phoneNumber: 'call me', locale: 'xx' };
    const refused = await agent.submit(page, typed);
    expect(refused.status).toBe(400);
    const { locale: _, ...texts } = typed;
    expect(formOf(refused).fields).toMatchObject(texts);
    for (const field of ['givenName', 'phoneNumber', 'locale']) expect(refused.body).toContain(`aria-describedby="${field}-problem"`);
    expect(refused.body).not.toContain('familyName-problem');
    const nameless = await agent.submit(page, { givenName: ' ', familyName: '\u200b' });
    expect([nameless.status, ...problemsOf(nameless)]).toEqual([400, 'Enter a given name or a surname.']);
    expect((await personNow()).updatedAt).toEqual(before.updatedAt);
    await agent.submit(page, { givenName: '', familyName: 'Only', phoneNumber: '' });
    const { givenName, phoneNumber, familyName } = await personNow();
    expect([givenName, familyName, phoneNumber]).toEqual([undefined, 'Only', undefined]);
  });

  test('keeps a language that the pages do not have, and a number that is older than the rule', async () => {
    await allow('name', 'phone', 'locale');
    await service.idp.tenant(acme).persons.update(me.personId, { locale: 'pt-BR', phoneNumber: 'ext. five' });
    const agent = new Agent();
    const page = await open(agent);
    expect(page.body).toContain('>Português (Brasil)</option>');
    expect(languageOf(page)).toBe('en');
    await agent.submit(page, { givenName: 'Other' });
    expect(await personNow()).toMatchObject({ givenName: 'Other', locale: 'pt-BR', phoneNumber: 'ext. five' });
  });

  test('has its texts in every language', async () => {
    const agent = new Agent();
    await open(agent);
    for (const locale of locales) {
      const page = await agent.get(`${url()}?ui_locales=${locale}`);
      expect([page.status, languageOf(page)]).toEqual([200, locale]);
    }
  });

  test('of another site or another person is not taken', async () => {
    const [agent, other] = [new Agent(), new Agent()];
    const page = await open(agent);
    const mine = { ...me };
    me = await create(acme);
    await open(other);
    for (const foreign of [await other.submit(page, { givenName: 'Evil' }), await agent.submit(page, { csrf: 'x', givenName: 'Evil' })]) {
      expect(foreign.status).toBe(403);
      expect(foreign.body).not.toContain('Evil');
    }
    for (const person of [mine, me]) expect((await personNow(person)).givenName).toBe('Given');
  });
});

describe('two tabs', () => {
  test('the second sees that something changed, keeps what was typed, and saves when it is sent again', async () => {
    const agent = new Agent();
    const [first, second] = [await open(agent), await open(agent)];
    await agent.submit(first, { givenName: 'First' });
    const late = await agent.submit(second, { familyName: 'Second', locale: 'de' });
    expect([late.status, titleOf(late)]).toEqual([409, 'Profile']);
    expect(formOf(late).fields).toMatchObject({ givenName: 'First', familyName: 'Second', locale: 'de' });
    expect(await personNow()).toMatchObject({ givenName: 'First', familyName: 'Family' });
    await agent.submit(late, {});
    expect(await personNow()).toMatchObject({ givenName: 'First', familyName: 'Second', locale: 'de' });
  });

  test('a field that both changed has the stored value beside it', async () => {
    const agent = new Agent();
    const [first, second] = [await open(agent), await open(agent)];
    await agent.submit(first, { givenName: 'First' });
    const late = await agent.submit(second, { givenName: 'Second' });
    expect([formOf(late).fields.givenName, problemsOf(late)[1]]).toEqual(['Second', 'Saved now: First']);
    await agent.submit(late, {});
    expect((await personNow()).givenName).toBe('Second');
  });

  test('a form whose seen values were altered is not saved', async () => {
    const agent = new Agent();
    const page = await open(agent);
    for (const seen of ['', '[]', '[1,2,3]', '{', 'null', `["${'x'.repeat(5000)}"]`]) {
      const refused = await agent.submit(page, { givenName: `Evil ${seen.length}`, seen });
      expect([seen.length, refused.status]).toEqual([seen.length, 409]);
    }
    expect((await personNow()).givenName).toBe('Given');
  });

  test('a problem of a field does not hide the other change', async () => {
    await allow('name', 'phone');
    const agent = new Agent();
    const [first, second] = [await open(agent), await open(agent)];
    await agent.submit(first, { givenName: 'First' });
    expect((await agent.submit(second, { phoneNumber: 'call me' })).status).toBe(409);
  });

  test('of many changes at the same time, one is saved', async () => {
    const agent = new Agent();
    const pages = [];
    for (let tab = 0; tab < 8; tab += 1) pages.push(await open(agent));
    const answers = await Promise.all(pages.map((page, tab) => agent.submit(page, { givenName: `Tab ${tab}` })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)]);
    await until(() => eventsOf(me.oid).length > 0);
    expect(eventsOf(me.oid)).toHaveLength(1);
  });

  test('a change of something else does not refuse the form', async () => {
    const agent = new Agent();
    const page = await open(agent);
    await service.idp.tenant(acme).persons.update(me.personId, { attributes: { costCenter: '1' }, phoneNumber: '+47 2' });
    expect((await agent.submit(page, { givenName: 'Other' })).status).toBe(200);
  });
});

describe('the policy of the tenant', () => {
  test.each([
    [[], []],
    [['name'], ['givenName', 'familyName']],
    [['phone'], ['phoneNumber']],
    [['locale'], ['locale']],
  ] as const)('%j lets users change %j alone', async (selfService, fields) => {
    await allow(...selfService);
    await service.idp.tenant(acme).persons.update(me.personId, { locale: 'sv' });
    const page = await open(new Agent());
    const names = ['givenName', 'familyName', 'phoneNumber', 'locale'];
    const inputs = page.body.includes('<form class="stack"') ? formOf(page).fields : {};
    expect(names.filter((name) => name in inputs)).toEqual(fields);
    // The other values are shown, with the organisation that changes them.
    expect(page.body).toContain('Acme');
    for (const text of ['Given', 'Family', '+47 1000', 'Svenska']) expect(page.body).toContain(text);
  });

  test('holds for a form from before: the part is not changed, and the page says so', async () => {
    const agent = new Agent();
    const page = await open(agent);
    await allow('locale');
    const refused = await agent.submit(page, { givenName: 'Other', locale: 'nb' });
    expect([refused.status, formOf(refused).fields.locale]).toEqual([409, 'nb']);
    expect((await personNow()).givenName).toBe('Given');
    await agent.submit(refused, { givenName: 'Other' });
    expect(await personNow()).toMatchObject({ givenName: 'Given', locale: 'nb' });
  });

  test('holds for the code of a host, and not for administrators', async () => {
    const { persons } = service.idp.tenant(acme);
    await expect(persons.updateOwn(me.personId, { phoneNumber: '+47 2' })).rejects.toMatchObject({
      code: 'self_service_refused',
      details: { path: '/phoneNumber' },
    });
    await expect(persons.updateOwn(me.personId, { email: 'a@b.test' } as never)).rejects.toMatchObject({ code: 'invalid_record' });
    await persons.updateOwn(me.personId, { givenName: null, locale: 'fi' });
    await persons.update(me.personId, { phoneNumber: '+47 3' });
    expect(await personNow()).toMatchObject({ locale: 'fi', phoneNumber: '+47 3' });
    expect(await personNow()).not.toHaveProperty('givenName');
  });

  test('is a member of tenants in the admin API', async () => {
    const root = administer(service.issuer, await adminToken(service.issuer, 'everything'));
    const path = `/tenants/${acme}`;
    expect((await root.patch(path, { selfService: ['phone'] })).json.selfService).toEqual(['phone']);
    expect((await open(new Agent())).body).toContain('name="phoneNumber"');
    for (const selfService of [['email'], ['name', 'name'], 'name'])
      expect([selfService, (await root.patch(path, { selfService })).status]).toEqual([selfService, 422]);
    expect((await root.patch(path, { selfService: null })).json).not.toHaveProperty('selfService');
    const person = `${path}/persons/${me.personId}`;
    expect((await root.patch(person, { locale: 'nb-NO' })).json.locale).toBe('nb-NO');
    expect((await root.patch(person, { locale: 'norsk bokmål' })).status).toBe(422);
  });

  test('a new number is not verified', async () => {
    await allow('phone');
    await service.idp.tenant(acme).persons.update(me.personId, { phoneNumberVerified: true });
    const agent = new Agent();
    await agent.submit(await open(agent), { phoneNumber: '+47 22 33 44 55' });
    expect(await personNow()).toMatchObject({ phoneNumber: '+47 22 33 44 55', phoneNumberVerified: false });
  });
});

describe('the sign-in', () => {
  test('is of the last ten minutes', async () => {
    const agent = new Agent();
    const page = await open(agent);
    passTime(601_000);
    expect((await agent.follow(await agent.submit(page, { givenName: 'Late' }))).url).toContain('/interaction/');
    expect((await agent.follow(await agent.get(url()))).url).toContain('/interaction/');
    expect((await personNow()).givenName).toBe('Given');
  });

  test('of a linked account changes the person of that account', async () => {
    const child = await create(globex, { givenName: 'Child' });
    await service.idp.tenant(globex).linking.link(child.oid, { tid: acme, userId: me.oid });
    const agent = new Agent();
    const request = authorizeUrl(service.issuer, {
      acr_values: `tenant:${globex}`,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    await signIn(agent, request, me.userName, 'password');
    const page = await agent.follow(await agent.get(url()));
    expect(formOf(page).fields.givenName).toBe('Child');
    await agent.submit(page, { givenName: 'Own' });
    expect([(await personNow(child)).givenName, (await personNow()).givenName]).toEqual(['Own', 'Given']);
    await until(() => eventsOf(child.oid).length > 0);
    expect([eventsOf(child.oid).length, eventsOf(me.oid)]).toEqual([1, []]);
  });

  test('of a user who was disabled meanwhile changes nothing', async () => {
    const agent = new Agent();
    const page = await open(agent);
    await service.idp.tenant(acme).users.disable(me.oid);
    const answer = await agent.follow(await agent.submit(page, { givenName: 'Disabled' }));
    expect(titleOf(answer)).not.toBe('Your profile is saved');
    expect((await personNow()).givenName).toBe('Given');
  });
});

describe('the language of the own pages', () => {
  const account = () => `${service.issuer}/idp/account`;
  test('is the language of the person before that of the browser, after the language menu', async () => {
    const agent = new Agent({ 'accept-language': 'sv' });
    await open(agent);
    const language = async (query = '') => languageOf(await agent.get(account() + query));
    expect(await language()).toBe('sv');
    await service.idp.tenant(acme).persons.update(me.personId, { locale: 'fi-FI' });
    expect([await language(), await language('?ui_locales=de')]).toEqual(['fi', 'de']);
    await service.idp.tenant(acme).persons.update(me.personId, { locale: 'pt-BR' });
    expect(await language()).toBe('sv');
  });

  test('is not the language of the sign-in', async () => {
    await service.idp.tenant(acme).persons.update(me.personId, { locale: 'fi' });
    const agent = new Agent();
    const page = await agent.follow(await agent.get(url()));
    const named = await agent.submit(page, { identifier: me.userName });
    expect([languageOf(page), languageOf(named)]).toEqual(['en', 'en']);
    expect(languageOf(await agent.follow(await agent.submit(named, { password: 'password' })))).toBe('fi');
  });
});

describe('the language of mails', () => {
  test('is the language of the person before that of an invitation, on the pages of the invitation link too', async () => {
    const { invitations } = service.idp.tenant(acme);
    for (const [locale, invited, expected] of [
      ['da', 'nb', 'da'],
      ['pt-BR', 'nb', 'nb'],
      [undefined, 'sv', 'sv'],
    ] as const) {
      const email = `invited-${expected}@profile.test`;
      const person = { givenName: 'I', email, ...(locale && { locale }), user: { userName: email } };
      await invitations.createPerson(person, { send: true, locale: invited });
      const mail = await mailTo(captured, email, 'invitation');
      const link = /https?:\S+\/invitations\/\S+/.exec(mail.text)?.[0] ?? '';
      expect([mail.locale, languageOf(await new Agent().get(link))]).toEqual([expected, expected]);
    }
  });

  test('is the language of the tenant for a person without a language', async () => {
    await service.idp.directory.tenants.update(acme, { locale: 'fi' });
    await service.idp.tenant(acme).credentials.setPassword(me.oid, 'another password that is long');
    expect((await mailTo(captured, me.userName, 'account-changed')).locale).toBe('fi');
  });
});
