/** Issue 14, external sign-in: all outcomes. */
import { describe, expect, test } from '@jest/globals';
import { Agent, titleOf } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { atUpstream, press, UPSTREAM_SECRET } from '../support/sign-in/upstream-provider.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { textOf, useContoso } from './contoso.js';

const at = useContoso();
const { service, open, through, byContoso, withIdToken } = at;

describe('each outcome lands on its page and nowhere else', () => {
  test('cancelled: says so, never the text of the provider, and goes on by trying again or another way', async () => {
    at.contoso.person = undefined;
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(at.contoso, await open(agent, { acr_values: `idp:contoso` }))));
    expect([page.status, titleOf(page)]).toEqual([200, 'You cancelled at Contoso ID']);
    expect(textOf(page)).not.toContain('a text of the provider');
    at.contoso.person = { sub: 'bob-there' };
    const again = await agent.submit(page, { step: 'again' });
    expect(membersOf(await agent.follow(await agent.get(await atUpstream(at.contoso, again))))).toHaveProperty('code');
  });

  test('cancelled on the way from a page with other ways: they are a link away', async () => {
    at.social.person = undefined;
    const agent = new Agent();
    const page = await agent.follow(await agent.get(await atUpstream(at.social, await press(agent, await open(agent), 'social'))));
    const [, href = ''] = /<a[^>]*href="([^"]*restart=yes)"/.exec(page.body) ?? [];
    expect(isSignInPage(await agent.follow(await agent.get(href)))).toBe(true);
  });

  test('failed: the provider does not answer, or answers wrongly', async () => {
    const title = 'Signing in with Contoso ID did not work';
    at.contoso.instead = (req, res) => req.url === '/token' && Boolean(res.writeHead(500).end('a secret of the provider'));
    const page = await byContoso(new Agent());
    expect([page.status, titleOf(page)]).toEqual([400, title]);
    expect(textOf(page)).not.toContain('secret of the provider');
    expect(textOf(page)).toMatch(/Reference: \S+/);
    at.contoso.instead = withIdToken((claims) => ({ ...claims, nonce: 'another' }));
    expect(titleOf(await byContoso(new Agent()))).toBe(title);
    at.contoso.instead = withIdToken((claims) => ({ ...claims, aud: 'another' }));
    expect(titleOf(await byContoso(new Agent()))).toBe(title);
    at.contoso.instead = withIdToken((claims) => ({ ...claims, iss: at.social.issuer }));
    expect(titleOf(await byContoso(new Agent()))).toBe('Signing in with Contoso ID was stopped');
    at.contoso.instead = withIdToken((claims) => ({
      ...claims,
      exp: epochSeconds() + 12,
      iat: epochSeconds() + 12,
    }));
    expect(membersOf(await byContoso(new Agent()))).toHaveProperty('code');
  });

  test('C03b: the log names both values where the provider is another than the connection says', async () => {
    at.contoso.instead = withIdToken((claims) => ({ ...claims, aud: 'another-client' }));
    await byContoso(new Agent());
    expect(service.lines.at(-1)?.fields.reason).toMatch(
      /^the answer of the provider is invalid; aud: expected ".+", got "another-client"; compare clientId of the connection with the client at the provider$/,
    );
  });

  test('unknown user: no account here for them, and the application gets no code', async () => {
    at.social.person = { sub: 'stranger', email: 'bob@globex.test', email_verified: true };
    const page = await through(new Agent(), { acr_values: 'idp:social' }, at.social);
    expect([page.status, titleOf(page), page.location]).toEqual([400, 'There is no account for you yet', undefined]);
    const another = new Agent();
    const refused = await through(another, { acr_values: 'idp:social' }, at.social);
    await another.submit(refused, { step: 'again' }).then((begun) => atUpstream(at.social, begun));
    expect(at.social.asked.at(-1)?.get('prompt')).toBe('select_account');
  });

  test('mix-up: the answer of one provider at the address of another is refused before any token is asked for', async () => {
    const agent = new Agent();
    const back = await atUpstream(at.contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const before = at.social.redeemed.length + at.contoso.redeemed.length;
    const swapped = await agent.follow(await agent.get(back.replace('/connections/contoso/', '/connections/social/')));
    expect([swapped.status, titleOf(swapped)]).toEqual([400, 'Signing in with Contoso ID was stopped']);
    const other = new Agent();
    const wrong = new URL(await atUpstream(at.contoso, await open(other, { acr_values: 'idp:contoso' })));
    expect(wrong.searchParams.get('iss')).toBe(at.contoso.issuer);
    wrong.searchParams.set('iss', at.social.issuer);
    expect(titleOf(await other.follow(await other.get(wrong.href)))).toBe('Signing in with Contoso ID was stopped');
    expect(at.social.redeemed.length + at.contoso.redeemed.length).toBe(before);
  });

  test('stolen state: in another browser the answer signs nobody in, and stays good for the one that began', async () => {
    const agent = new Agent();
    const back = await atUpstream(at.contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const thief = new Agent();
    const stolen = await thief.get((await thief.get(back)).location ?? '');
    expect(stolen.location ?? '').not.toContain('code=');
    expect(membersOf(await agent.follow(await agent.get(back)))).toHaveProperty('code');
  });

  test('replayed: the same answer counts once, also when it comes many times at once', async () => {
    const agent = new Agent();
    const back = await atUpstream(at.contoso, await open(agent, { acr_values: 'idp:contoso' }));
    const onward = (await agent.get(back)).location ?? '';
    const before = at.contoso.redeemed.length;
    const all = await Promise.all(Array.from({ length: 5 }, () => agent.get(onward)));
    expect(all.filter(({ location }) => location !== undefined)).toHaveLength(1);
    expect(all.filter((page) => titleOf(page) === 'This step is over')).toHaveLength(4);
    expect(at.contoso.redeemed.length - before).toBe(1);
  });

  test('unknown, repeated or forged state: a page that leads nowhere else', async () => {
    const callback = `${service.issuer}/idp/connections/contoso/callback`;
    for (const query of ['', '?state=x&code=y', '?state=x&state=y', '?error=access_denied']) {
      const page = await new Agent().get(callback + query);
      expect([page.status, titleOf(page), page.location]).toEqual([400, 'This sign-in cannot go on', undefined]);
    }
  });

  test('a form_post answer is sent on to a GET, so that the cookies come along', async () => {
    const agent = new Agent();
    const back = new URL(await atUpstream(at.contoso, await open(agent, { acr_values: 'idp:contoso' })));
    const posted = await new Agent().post(back.origin + back.pathname, Object.fromEntries(back.searchParams));
    expect(posted.status).toBe(303);
    expect(membersOf(await agent.follow(await agent.get(posted.location ?? '')))).toHaveProperty('code');
  });

  test('nothing of the provider is kept: neither tokens nor codes are in the log', async () => {
    const agent = new Agent();
    const back = await atUpstream(at.contoso, await open(agent, { acr_values: 'idp:contoso' }));
    await agent.follow(await agent.get(back));
    const code = new URL(back).searchParams.get('code') ?? '-';
    expect(JSON.stringify(service.lines)).not.toContain(code);
    expect(JSON.stringify(service.lines)).not.toContain(UPSTREAM_SECRET);
  });
});

describe('A03: an ID token that is not UTF-8', () => {
  const newcomer = { email: 'jurgen@contoso.test', email_verified: true, given_name: 'J\u00fcrgen', family_name: 'M\u00fcller' };
  const signInAs = (sub: string) => {
    at.contoso.person = { sub };
    at.contoso.instead = withIdToken((claims) => ({ ...claims, ...newcomer, note: '\u00ff' }), undefined, 'latin1');
    return byContoso(new Agent());
  };

  test('signs in, and nothing of it is stored as U+FFFD', async () => {
    expect(membersOf(await signInAs('jurgen'))).toHaveProperty('code');
    const [account] = await service.idp.directory.accounts.ofIdentity({ idp: 'contoso', subject: 'jurgen' });
    expect(account?.person).toMatchObject({ givenName: 'Jrgen', familyName: 'Mller', email: 'jurgen@contoso.test' });
    expect(JSON.stringify(account?.person)).not.toContain('\ufffd');
  });

  test('of a subject that cannot be decoded opens no account, because several subjects would be one', async () => {
    at.contoso.person = { sub: 'bob-there' };
    at.contoso.instead = withIdToken((claims) => ({ ...claims, ...newcomer, sub: 'j\u00fcrgen' }), undefined, 'latin1');
    expect(titleOf(await byContoso(new Agent()))).toBe('Signing in with Contoso ID did not work');
    expect(service.lines.at(-1)?.fields.reason).toMatch(/^the claim sub has characters that cannot be decoded/);
    expect(await service.idp.directory.accounts.ofIdentity({ idp: 'contoso', subject: 'j\ufffdrgen' })).toEqual([]);
  });
});
