/**
 * Passwords, and the user names under which password managers save them. `Agent` checks every page of every other test by the same rule.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { resolveView } from '../../extensions/sign-in/extension-view.js';
import { renderPage } from '../../extensions/sign-in/render.js';
import type { View } from '../../lib/extension-door.js';
import { captureMail, invite, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { gallery } from '../support/browser/page-gallery.js';
import { Agent, type Answer, authorizeUrl, titleOf } from '../support/client/agent.js';
import { hasPassword, passwordsWithoutUserName } from '../support/client/password-forms.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, linkIn, mailTo, passwordPage, pkce } from '../support/sign-in/passwords.js';

const pages = gallery
  .map(({ name, view, frame }) => ({ name, markup: renderPage(view, frame) }))
  .filter(({ markup }) => hasPassword(markup));

const password = '<input type="password" name="password">';
const userName = (more: string): string => `<input type="text" autocomplete="username"${more}>`;

describe('a password is saved under a user name', () => {
  test.each(pages)('on $name', ({ markup }) => {
    expect(passwordsWithoutUserName(markup)).toEqual([]);
  });

  test('on each page that has a password, and in each of its states', () => {
    const names = new Set(pages.map(({ name }) => name.split('-', 1)[0]));
    expect([...names].sort()).toEqual(['create', 'password', 'view']);
  });

  test.each([
    ['no user name', `<form>${password}</form>`],
    ['a user name after the password', `<form>${password}${userName('')}</form>`],
    ['a user name in another form', `<form>${userName('')}</form><form>${password}</form>`],
    ['an empty user name that nobody can type', `<form>${userName(' value="" readonly')}${password}</form>`],
    ['another text before the password', `<form><input type="text" autocomplete="email" value="a">${password}</form>`],
    ['no form', `${userName(' value="a"')}${password}`],
  ])('the rule sees %s', (_, markup) => {
    expect(passwordsWithoutUserName(markup)).toEqual([password]);
  });

  test.each([
    ['in the same form', `<form>${userName(' value="a" readonly')}${password}</form>`],
    ['typed in the same form', `<form>${userName('')}${password}${password}</form>`],
  ])('the rule takes a user name %s', (_, markup) => {
    expect(passwordsWithoutUserName(markup)).toEqual([]);
  });

  const asked = { part: 'field', name: 'new', label: { plain: 'New' }, kind: 'password', autocomplete: 'new-password' } as const;
  const shown = (parts: View['parts'], form: View['form'] | undefined = { action: '/x' }): string => {
    const view: View = { title: { plain: 'T' }, parts, ...(form && { form }) };
    return renderPage(resolveView(view, { locale: 'en', texts: {} }, { csrf: 'c' }), { locale: 'en' });
  };

  test('a view of an extension shows its user name once, and never asks without one', () => {
    const other = { part: 'field', name: 'name', label: { plain: 'Name' } } as const;
    const field = { ...other, autocomplete: 'username' };
    expect(shown([{ ...asked, userName: 'alice"<' }])).toContain('value="alice&quot;&lt;" autocomplete="username" readonly');
    const both = shown([
      { ...asked, name: 'old', userName: 'alice' },
      { ...asked, userName: 'alice' },
    ]);
    expect(both.match(/value="alice" autocomplete="username" readonly/g)).toHaveLength(1);
    expect(passwordsWithoutUserName(both)).toEqual([]);
    const typed = shown([field, { ...asked, userName: { field: 'name' } }]);
    expect(passwordsWithoutUserName(typed)).toEqual([]);
    expect(typed.match(/autocomplete="username"/g)).toHaveLength(1);
    expect(() => shown([other, { ...asked, userName: { field: 'name' } }])).toThrow('No field name with autocomplete username');
    expect(() => resolveView({ title: { plain: 'T' }, parts: [{ ...asked, userName: 'a' }] }, { locale: 'en', texts: {} }, {})).toThrow(
      'no form',
    );
  });

  test('no other source writes the input of a password', () => {
    const sources = ['lib', 'extensions', 'examples']
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
      .filter((path) => path.endsWith('.ts'));
    const writing = sources.filter((path) => /<input\b[^>]*\stype="(?:password|\$\{)/.test(readFileSync(path, 'utf8')));
    expect(writing).toEqual(['extensions/sign-in/views/parts/form.ts']);
  });
});

describe('pages with a password, as routes answer them', () => {
  const captured = captureMail();
  const service = useIdp({ seed: invitingSeed as never, mail: captured.mail, personalTenant });
  let acme: string;
  beforeAll(async () => {
    acme = await tenantNamed(service.idp, 'Acme');
    await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
  });

  /** Returns the user name under which a password manager saves the password of a page. */
  function savedAs({ body, url }: Answer): string | undefined {
    expect([url, hasPassword(body), passwordsWithoutUserName(body)]).toEqual([url, true, []]);
    const [tag = ''] = /<input\b[^>]*\sautocomplete="username"[^>]*>/.exec(body) ?? [];
    return /\svalue="([^"]*)"/.exec(tag)?.[1];
  }
  const again = async (agent: Agent, page: Answer, fields: Record<string, string>): Promise<Answer> => {
    const answer = await agent.submit(page, fields);
    expect([titleOf(answer), answer.status]).toEqual([titleOf(page), 400]);
    return answer;
  };

  test.each(['alice@acme.test', ' ALICE@acme.test', 'nobody@acme.test', 'nobody'])(
    'the password of a sign-in is saved under what was typed, and nothing else depends on it: %s',
    async (typed) => {
      const agent = new Agent();
      const page = await passwordPage(service.issuer, agent, typed);
      const wrong = await again(agent, page, { password: 'wrong' });
      expect([savedAs(page), savedAs(wrong)]).toEqual([typed.trim(), typed.trim()]);
      const shape = ({ body }: Answer): string =>
        body.replaceAll(typed.trim(), '').replace(/<bdi>.*?<\/bdi>|(?:interaction\/|value=")[\w-]{20,}|avatar[^<]*/g, '');
      const other = new Agent();
      const stranger = await passwordPage(service.issuer, other, 'stranger');
      const refused = await again(other, stranger, { password: 'wrong' });
      expect([shape(page), shape(wrong)]).toEqual(
        [stranger, refused].map((one) => shape({ ...one, body: one.body.replaceAll('stranger', '') })),
      );
    },
  );

  test('a new account is saved under the address that its form asks for', async () => {
    const agent = new Agent();
    const page = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}` })),
    );
    const refused = await again(agent, page, { givenName: 'Nina', familyName: 'New', email: 'nina@new.test', password: 'short' });
    expect([savedAs(page), savedAs(refused)]).toEqual([undefined, 'nina@new.test']);
  });

  test('PG-PREHIJACK: a new account whose link is opened in another browser is saved under its address', async () => {
    const begun = new Agent();
    const form = await begun.follow(
      await begun.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}` })),
    );
    await begun.submit(form, { givenName: 'Nora', familyName: 'New', email: 'nora@new.test', password: 'long enough for anybody' });
    const link = linkIn(await mailTo(captured, 'nora@new.test', 'registration'));
    expect(hasPassword((await begun.get(link)).body)).toBe(false);
    const agent = new Agent();
    const page = await agent.get(link);
    expect([savedAs(page), savedAs(await again(agent, page, { password: 'short' }))]).toEqual(['nora@new.test', 'nora@new.test']);
  });

  test('an invitation is accepted under the user name that it is for', async () => {
    const { url, userName } = await invite(service.idp);
    const agent = new Agent();
    const page = await agent.get(url);
    expect([savedAs(page), savedAs(await again(agent, page, { password: 'short' }))]).toEqual([userName, userName]);
  });

  test('a personal account for an invitation is saved under the address that its form asks for', async () => {
    const { url } = await invite(service.idp, { link: true });
    const agent = new Agent();
    const page = await agent.follow(await agent.submit(await agent.get(url), { step: 'create' }));
    const refused = await again(agent, page, { email: 'gina@home.test', password: 'short' });
    expect(savedAs(refused)).toBe('gina@home.test');
    expect(refused.body).not.toContain('value="short"');
  });

  test('a password is reset under the user name of its link', async () => {
    await forget(service.issuer, 'CAROL@acme.test');
    const agent = new Agent();
    const page = await agent.get(linkIn(await mailTo(captured, 'carol@acme.test', 'password-reset')));
    const refused = await again(agent, page, { password: 'short' });
    expect([savedAs(page), savedAs(refused)]).toEqual(['carol@acme.test', 'carol@acme.test']);
  });
});
