/** A person's own identities at other providers: after a reset, the page leads to them, and they can be removed without JavaScript. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, titleOf } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';
import { useContoso } from './contoso.js';

const mails = captureMail();
const connection = { issuer: 'https://up.example', clientId: 'c', clientSecret: 's' };
const service = useIdp({
  mail: mails.mail,
  seed: {
    ...testSeed,
    extensions: {
      connections: [
        { ...connection, id: 'social', name: 'Social <b>' },
        { ...connection, id: 'other', name: 'Other' },
      ],
    },
  } as never,
});
const at = (path: string) => `${service.issuer}/idp${path}`;
const carol = { userName: 'carol@acme.test', password: 'carol', tid: '', oid: '' };
beforeAll(async () => {
  const [account] = await service.idp.directory.accounts.candidates(carol.userName);
  Object.assign(carol, { tid: account?.tenant.id, oid: account?.person.user.id });
});
const users = () => service.idp.tenant(carol.tid).users;
const identities = async () => (await users().require(carol.oid)).user.externalIdentities.map(({ idp, subject }) => `${idp} ${subject}`);
const given = [
  { idp: 'social', subject: 'attacker "1"' },
  { idp: 'other', subject: 'carol-there' },
  { idp: 'gone', subject: 'of a connection that is gone' },
];

async function signIn(agent: Agent, page: Answer): Promise<Answer> {
  const named = await agent.follow(await agent.submit(page, { identifier: carol.userName }));
  return agent.follow(await agent.submit(named, { password: carol.password }));
}
const open = async (agent: Agent) => agent.follow(await agent.get(at('/identities')));
const values = ({ body }: Answer, name: string) =>
  [...body.matchAll(new RegExp(`name="${name}" value="([^"]+)"`, 'g'))].map(([, value]) => value ?? '');
const isSignedIn = async (agent: Agent) => {
  const { location = '' } = await agent.get(
    authorizeUrl(service.issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' }),
  );
  return new URL(location).searchParams.has('code');
};

describe('after a reset', () => {
  test('the page says that there may be other ways in, in each language, and leads to the account page', async () => {
    const agent = new Agent();
    const asked = await agent.follow(await agent.get(authorizeUrl(service.issuer, { nonce: 'n' })));
    const named = await agent.follow(await agent.submit(asked, { identifier: carol.userName }));
    const uid = /interaction\/([\w-]+)/.exec(named.url)?.[1] ?? '';
    const forgotten = await agent.get(at(`/interaction/${uid}/forgotten`));
    await agent.follow(await agent.submit(forgotten, { identifier: carol.userName, email: carol.userName }));
    await until(() => mails.mails.length > 0);
    const link = /https?:\/\/\S+\/password\/\S+/.exec(String(mails.mails.at(-1)?.text))?.[0] ?? '';
    const password = 'an altogether new password';
    const done = await agent.follow(await agent.submit(await agent.get(link), { password }));
    carol.password = password;
    const texts = {
      en: 'Check the ways to sign in',
      nb: 'Sjekk måtene å logge inn på',
      sv: 'Kontrollera inloggningssätten',
      da: 'Tjek måderne at logge ind på',
      fi: 'Tarkista kirjautumistavat',
      de: 'Anmeldewege prüfen',
    };
    for (const [language, text] of Object.entries(texts)) {
      const page = await agent.request(done.url, { headers: { 'accept-language': language } });
      expect([language, page.status, page.body]).toEqual([language, 200, expect.stringContaining(text)]);
      expect(page.body).toContain(`href="${at('/account')}"`);
    }
    const account = await signIn(agent, await agent.follow(await agent.get(at('/account'))));
    expect(titleOf(account)).toBe('Your account');
    for (const path of ['/identities', '/factors', '/linked-accounts']) expect(account.body).toContain(`href="${at(path)}"`);
  });
});

describe('the page', () => {
  test('lists all, and removes one after a question; the other browsers are signed out, this one is not', async () => {
    for (const identity of given) await users().addIdentity(carol.oid, identity);
    const [here, elsewhere] = [new Agent(), new Agent()];
    for (const agent of [elsewhere, here]) await signIn(agent, await open(agent));
    const page = await open(here);
    expect(page.body).toContain('Social &lt;b&gt;');
    expect(page.body).toContain('attacker &quot;1&quot;');
    expect(values(page, 'remove')).toHaveLength(3);
    const question = await here.submit(page, { remove: values(page, 'remove')[0] ?? '' });
    expect([question.status, values(question, 'removed')]).toEqual([200, [values(page, 'remove')[0]]]);
    expect(await identities()).toHaveLength(3);
    const after = await here.follow(await here.submit(question, { removed: values(question, 'removed')[0] ?? '' }));
    expect([after.url, values(after, 'remove').length]).toEqual([at('/identities'), 2]);
    expect(await identities()).toEqual(['other carol-there', 'gone of a connection that is gone']);
    expect([await isSignedIn(here), await isSignedIn(elsewhere)]).toEqual([true, false]);
  });

  test('removes by a form that is sent again an identity that was connected in between', async () => {
    const identity = { idp: 'other', subject: 'there and back' };
    const before = await identities();
    await users().addIdentity(carol.oid, identity);
    const agent = new Agent();
    const page = await signIn(agent, await open(agent));
    const question = await agent.submit(page, { remove: values(page, 'remove').at(-1) ?? '' });
    const removal = { removed: values(question, 'removed')[0] ?? '' };
    for (const time of ['first', 'again']) {
      if (time === 'again') await users().addIdentity(carol.oid, identity);
      await agent.submit(question, removal);
      expect([time, await identities()]).toEqual([time, before]);
    }
  });

  test('takes no form of another browser or site, and no stale sign-in', async () => {
    const agent = new Agent();
    const page = await signIn(agent, await open(agent));
    const [removed = ''] = values(page, 'remove');
    const { fields } = formOf(page);
    const before = await identities();
    expect((await agent.post(at('/identities'), { removed })).status).toBe(403);
    expect((await agent.post(at('/identities'), { ...fields, csrf: `${fields.csrf}x`, removed })).status).toBe(403);
    expect(
      (await agent.post(at('/identities'), { ...fields, removed }, { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' })).status,
    ).toBe(403);
    const stranger = await new Agent().post(at('/identities'), { ...fields, removed });
    expect(stranger.status).toBe(403);
    passTime(601_000);
    const late = await agent.follow(await agent.post(at('/identities'), { ...fields, removed }));
    expect(late.url).toContain('/interaction/');
    backToPresent();
    expect(await identities()).toEqual(before);
  });
});

describe('a sign-in by an identity', () => {
  const contoso = useContoso();
  beforeAll(() => contoso.service.idp.directory.credentials.forget(contoso.ids.bob));

  test('removes that identity if there is another way in, and ends with it', async () => {
    const { users: all } = { users: contoso.service.idp.tenant(contoso.ids.globex).users };
    await all.update(contoso.ids.bob, {
      externalIdentities: [
        { idp: 'contoso', subject: 'bob-there' },
        { idp: 'social', subject: 'bob-elsewhere' },
      ],
    });
    const agent = new Agent();
    await contoso.byContoso(agent);
    const url = `${contoso.service.issuer}/idp/identities`;
    const page = await agent.follow(await agent.get(url));
    expect([page.url, values(page, 'remove').length]).toEqual([url, 2]);
    const own = createHash('sha256')
      .update(JSON.stringify(['contoso', 'bob-there']))
      .digest('base64url');
    const after = await agent.follow(await agent.submit(page, { removed: own }));
    expect(after.url).toContain('/interaction/');
    expect((await all.require(contoso.ids.bob)).user.externalIdentities).toMatchObject([{ idp: 'social' }]);
  });

  test('removes one of two identities of its connection, and keeps the last', async () => {
    const all = contoso.service.idp.tenant(contoso.ids.globex).users;
    const [mine, foreign] = [
      { idp: 'contoso', subject: 'bob-there' },
      { idp: 'contoso', subject: 'somebody-else' },
    ];
    await all.update(contoso.ids.bob, { externalIdentities: [mine, foreign] });
    const agent = new Agent();
    await contoso.byContoso(agent);
    const page = await agent.follow(await agent.get(`${contoso.service.issuer}/idp/identities`));
    expect(values(page, 'remove')).toHaveLength(2);
    const [, ofForeign = ''] = values(page, 'remove');
    const asked = await agent.submit(page, { remove: ofForeign });
    expect(asked.body).toContain('removed');
    const left = await agent.follow(await agent.submit(asked, { removed: ofForeign }));
    expect((await all.require(contoso.ids.bob)).user.externalIdentities).toMatchObject([mine]);
    expect([left.status, values(left, 'remove')]).toEqual([200, []]);
    expect(left.body).toContain('This is your only way to sign in.');
  });
});
