/**
 * Persons with one name or none. The admin API creates every combination of names, blank names, address and user. Each shape of names is
 * looked up in every place that shows a name.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { shownName } from '../../../lib/text/person-name.js';
import { type AdminClient, administer, adminToken } from '../../support/administration/admin.js';
import { captureMail, invite } from '../../support/administration/invitations.js';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens, signIn } from '../../support/client/agent.js';
import { introspect, userinfo } from '../../support/client/steps.js';
import { samlAdminSeed } from '../../support/saml/service/administration.js';
import { useSamlService } from '../../support/saml/service/use-saml-service.js';
import { travel } from '../../support/saml/service-providers/travel.js';

const given = { absent: {}, empty: { givenName: '' }, blank: { givenName: ' \u00a0' }, there: { givenName: 'Mae' } };
const family = { absent: {}, empty: { familyName: '' }, blank: { familyName: '  ' }, there: { familyName: 'Moe' } };
interface Sample {
  readonly givenName?: string;
  readonly familyName?: string;
  readonly email?: string;
  readonly user?: { readonly userName: string };
}
/** Each combination, with its own texts. */
const samples: readonly Sample[] = Object.values(given).flatMap((one) =>
  Object.values(family).flatMap((other) =>
    [true, false].flatMap((hasEmail) =>
      [true, false].map((hasUser) => ({
        ...one,
        ...other,
        ...(hasEmail && { email: 'x@names.test' }),
        ...(hasUser && { user: { userName: 'y' } }),
      })),
    ),
  ),
);
const numbered = samples.map((sample, index): Sample => {
  const number = String(index).padStart(2, '0');
  return {
    ...sample,
    ...(sample.email !== undefined && { email: `m-address-${number}@names.test` }),
    ...(sample.user && { user: { userName: `m-user-${number}` } }),
  };
});
const isNamed = ({ givenName = '', familyName = '', email, user }: Sample): boolean =>
  givenName.trim() !== '' || familyName.trim() !== '' || email !== undefined || user !== undefined;

/** Shapes of names, with the expected name in each place. */
const shapes = [
  { userName: 'both@acme.test', names: { givenName: 'Mae', familyName: 'Moe' }, name: 'Mae Moe', picture: 'MM', title: 'Mae Moe' },
  { userName: 'given@acme.test', names: { givenName: 'Mae' }, name: 'Mae', picture: 'M', title: 'Mae' },
  { userName: 'family@acme.test', names: { familyName: 'Öberg' }, name: 'Öberg', picture: 'Ö', title: 'Öberg' },
  { userName: 'none@acme.test', names: {}, name: undefined, picture: 'N', title: 'none@acme.test' },
  { userName: 'blank', names: { givenName: '', familyName: ' ' }, name: undefined, picture: 'B', title: 'blank' },
];
const seed = {
  ...samlAdminSeed,
  tenants: samlAdminSeed.tenants.map((tenant, index) =>
    index > 0
      ? tenant
      : {
          ...tenant,
          persons: [
            ...(tenant.persons ?? []),
            ...shapes.map(({ userName, names }) => ({ ...names, user: { userName, devPassword: 'secret' } })),
          ],
        },
  ),
};

describe('the admin API', () => {
  const service = useSamlService({ seed, limits: { adminRequestsPerMinute: 10_000 } });
  let root: AdminClient;
  /** Names that pages show, by the id of the person. */
  const names = new Map<string, string>();
  let at: string;
  beforeAll(async () => {
    root = administer(service.issuer, await adminToken(service.issuer, 'root'));
    const { json } = await root.post('/tenants', { name: 'Names' });
    at = `/tenants/${json.id}`;
  });

  test('POST takes every combination that names the person, and keeps no blank name', async () => {
    for (const sample of numbered) {
      const { status, json } = await root.post(`${at}/persons`, sample);
      if (!isNamed(sample)) {
        expect([sample, status, json.code]).toEqual([sample, 422, 'invalid_record']);
        expect(JSON.stringify(json)).toContain('at least one of givenName, familyName, email and user');
        continue;
      }
      expect([sample, status]).toEqual([sample, 201]);
      names.set(json.id, shownName(sample).toLowerCase());
      expect([json.givenName, json.familyName]).toEqual(
        [sample.givenName, sample.familyName].map((name) => (name?.trim() ? name : undefined)),
      );
      expect(Object.hasOwn(json, 'givenName')).toBe(json.givenName !== undefined);
    }
    expect(numbered.filter((sample) => !isNamed(sample))).toHaveLength(9);
  });

  test.each(['name', '-name'])('lists are sorted by what pages show, page by page, by %s', async (sort) => {
    for (const list of ['persons', 'users']) {
      const items: Json[] = [];
      for (let after = ''; ; ) {
        const { status, json } = await root(`${at}/${list}?sort=${sort}&limit=7${after}`);
        expect(status).toBe(200);
        items.push(...json.items);
        if (json.next === undefined) break;
        after = `&after=${encodeURIComponent(json.next)}`;
      }
      const people = numbered.filter((sample) => isNamed(sample) && (list === 'persons' || sample.user));
      expect(items).toHaveLength(people.length);
      const shown = items.map(({ id, personId = id }) => names.get(personId));
      const expected = people.map((sample) => shownName(sample).toLowerCase()).sort();
      expect(shown).toEqual(sort === 'name' ? expected : expected.toReversed());
    }
    const { json } = await root(`${at}/persons?name=M-USER-`);
    expect(json.items.length).toBeGreaterThan(0);
    for (const person of json.items) expect([person.givenName, person.familyName]).toEqual([undefined, undefined]);
  });

  test('PATCH removes a name by null or a blank text, unless it is the last thing that names the person', async () => {
    for (const none of [null, '', '   ']) {
      const { json: person } = await root.post(`${at}/persons`, { givenName: 'Una', familyName: 'Udo', email: 'una@names.test' });
      const patch = (change: Json) => root.patch(`${at}/persons/${person.id}`, change);
      expect((await patch({ givenName: none })).json).not.toHaveProperty('givenName');
      expect((await patch({ email: null })).json).toMatchObject({ familyName: 'Udo' });
      const refused = await patch({ familyName: none });
      expect([refused.status, refused.json.code, refused.json.errors?.[0]?.pointer]).toEqual([422, 'invalid_record', '/familyName']);
      // Another member is written, and one name replaces the other in one call.
      expect((await patch({ phoneNumber: '123' })).status).toBe(200);
      expect((await patch({ familyName: none, givenName: 'Ida' })).json).toMatchObject({ givenName: 'Ida' });
    }
    const { json: person } = await root.post(`${at}/persons`, { givenName: 'Una', user: { userName: 'una' } });
    expect((await root.patch(`${at}/persons/${person.id}`, { givenName: null })).status).toBe(200);
  });

  test('a stored person whom nothing names is read, listed, changed and removed', async () => {
    const { json: made } = await root.post(`${at}/persons`, { user: { userName: 'removed-later' } });
    expect((await root.remove(`${at}/users/${made.user.id}`)).status).toBe(204);
    expect((await root(`${at}/persons/${made.id}`)).status).toBe(200);
    expect((await root(`${at}/persons?sort=name&limit=200`)).json.items.map(({ id }: Json) => id)).toContain(made.id);
    expect((await root.patch(`${at}/persons/${made.id}`, { phoneNumber: '1' })).status).toBe(200);
    expect((await root.remove(`${at}/persons/${made.id}`)).status).toBe(204);
  });
});

describe.each(shapes)('$userName', ({ userName, names, name, picture, title }) => {
  const captured = captureMail();
  const service = useSamlService({ seed, initialsAsPicture: true, mail: captured.mail });

  test('claims are told for the names that the person has', async () => {
    const client = { client: 'jwt', secret: 'jwt-secret', userName, password: 'secret', scope: 'openid profile' };
    const { tokens } = await obtainTokens(service.issuer, client);
    const told = [
      JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url').toString()),
      (await userinfo(service.issuer, tokens.access_token)).json,
    ];
    const has = (text: string | undefined) => (text?.trim() ? text : undefined);
    const { givenName, familyName } = names as { givenName?: string; familyName?: string };
    for (const claims of told) {
      expect([claims.given_name, claims.family_name, claims.name, claims.picture]).toEqual([
        has(givenName),
        has(familyName),
        name,
        picture,
      ]);
      for (const claim of ['given_name', 'family_name', 'name']) expect(Object.hasOwn(claims, claim)).toBe(claims[claim] !== undefined);
    }
    expect((await introspect(service.issuer, tokens.access_token, 'jwt')).json).toMatchObject({ active: true });
  });

  test('SAML attributes are those of the names', async () => {
    const attributes = ['given_name', 'family_name', 'name'].map((claim) => ({ name: claim, claim }));
    const sp = await service.add({ record: { attributes } });
    const agent = new Agent();
    const page = await travel(agent, sp.loginUrl);
    const next = await agent.submit(page, { identifier: userName });
    await travel(agent, await agent.submit(next, { password: 'secret' }));
    const profile = [...sp.sessions.values()].at(-1) as unknown as Json;
    expect(profile.attributes?.name ?? profile.name).toBe(name);
    expect(profile.nameID).toEqual(expect.any(String));
  });

  test('pages show the name, else the user name, once', async () => {
    const agent = new Agent();
    const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    const consent = await signIn(
      agent,
      authorizeUrl(service.issuer, { client_id: 'third-party', nonce: 'n', ...challenge }),
      userName,
      'secret',
    );
    const lines = (html: string) =>
      [...(/<span class="who">(.*?)<\/span>\s*(?:<\/div>|<\/button>|<\/span>)/s.exec(html)?.[1] ?? '').matchAll(/<bdi>(.*?)<\/bdi>/g)].map(
        ([, text = '']) => text.replaceAll('<wbr>', ''),
      );
    const expected = name === undefined ? [title, 'Acme'] : [title, userName, 'Acme'];
    expect(lines(consent.body)).toEqual(expected);
    expect(/class="avatar" aria-hidden="true">(.*?)</.exec(consent.body)?.[1]).toBe(picture);
    const chooser = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { client_id: 'web', prompt: 'select_account', ...challenge })),
    );
    expect(lines(chooser.body).slice(0, expected.length - 1)).toEqual(expected.slice(0, -1));
    for (const body of [consent.body, chooser.body]) expect(body).not.toContain('undefined');
  });

  test('mails greet by the given name, else by what pages show', async () => {
    const email = `guest-${userName}`.replace(/@.*|$/, '@mails.test');
    const own: Json = { ...names };
    await invite(service.idp, { send: true }, { givenName: '', familyName: '', ...own, email, user: { userName: email } });
    const { text } = await captured.to(email);
    expect(text).toContain(`Hello ${own.givenName?.trim() || own.familyName?.trim() || email},`);
  });
});
