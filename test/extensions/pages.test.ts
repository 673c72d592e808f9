/** house §5: pages of extensions in the look of the service, and additions of extensions to existing pages. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Locale } from 'tenant-idp';
import { type BrowserSignIn, type Extension, type ExtensionContext, locales, type PageAddition, parametersOf } from 'tenant-idp/extension';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { startIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';

const inAll = (texts: Record<string, string>) =>
  Object.fromEntries(
    locales.map((locale) => [locale, Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, `${text} [${locale}]`]))]),
  ) as Record<Locale, Record<string, string>>;

const accepted = new Set<string>();
const terms: Extension = {
  name: 'terms',
  texts: inAll({ 'terms.title': 'Terms of {company}', 'terms.accept': 'Accept', 'terms.box': 'I agree', 'terms.tick': 'Tick the box' }),
  requirements: ({ pages: { view }, service: { url, own } }) => [
    {
      name: 'terms',
      error: 'interaction_required',
      silent: 'pass',
      check: (_, { oid }) => (accepted.has(oid) ? 'met' : 'open'),
      show: (ctx, interaction) =>
        view(ctx, {
          interaction,
          title: { key: 'terms.title', values: { company: '<Acme> & co' } },
          ...(ctx.method === 'POST' ? { problem: 'terms.tick', status: 400 } : {}),
          form: { action: url(`${own}/interaction/${interaction.uid}/terms`) },
          parts: [
            { part: 'check', name: 'agree', label: 'terms.box' },
            { part: 'button', text: 'terms.accept' },
          ],
        }),
    },
  ],
  routes: (router, { service: { own }, signIn: { interactions } }) => {
    router.postForm(`${own}/interaction/:uid/terms`, {
      open: (ctx) => interactions.load(ctx),
      subject: ({ uid }) => uid,
      again: (ctx) => ctx.throw(403),
      async take(ctx, interaction) {
        if (parametersOf(ctx, ['agree']).agree !== 'yes') return interactions.showRequirement(ctx, interaction);
        accepted.add(interaction.oid ?? '');
        ctx.status = 303;
        ctx.redirect(await interactions.goOn(ctx, interaction));
      },
    });
  },
};
const policy: Extension = {
  name: 'policy',
  texts: inAll({
    'policy.privacy': 'Privacy',
    'policy.help': 'Help',
    'policy.words': 'Only for staff',
    'policy.who': 'Opened by {client}',
  }),
  pageAdditions: [
    { name: 'privacy', text: 'policy.privacy', href: 'https://acme.test/privacy' },
    { name: 'help', text: 'policy.help', href: ({ client }) => (client.id === 'web' ? '/help' : undefined) },
    { name: 'words', text: 'policy.words' },
    { name: 'who', text: 'policy.who', values: async ({ client }) => (client.id === 'web' ? { client: client.name } : undefined) },
  ],
};
const preferences: Extension = {
  name: 'preferences',
  texts: inAll({ 'preferences.title': 'Preferences', 'preferences.summary': 'What you <like>' }),
  accountSections: [
    {
      name: 'preferences',
      title: 'preferences.title',
      summary: 'preferences.summary',
      href: ({ service }) => service.url(`${service.own}/preferences`),
    },
    { name: 'letters', title: 'preferences.title', summary: 'preferences.summary', href: ({ work }) => work.mail && '/letters' },
    ...['Acme', 'Globex'].map((tenant) => ({
      name: `badge-${tenant}`,
      group: 'person' as const,
      title: 'preferences.title',
      summary: 'preferences.summary',
      href: () => `/badge/${tenant}`,
      isFor: async ({ account, oid }: BrowserSignIn, { directory }: Pick<ExtensionContext, 'directory'>) =>
        account.tenant.name === tenant && (await directory.accounts.findByOid(oid)) !== undefined,
    })),
  ],
};
const odd: Extension = {
  name: 'odd',
  routes: (router, { pages: { view } }) => {
    router.get('/idp/odd', (ctx) => view(ctx, { title: { plain: 'Odd' }, parts: [{ part: 'text', text: 'odd.missing' }] }));
    router.get('/idp/scripted', (ctx) =>
      view(ctx, { title: { plain: 'S' }, parts: [], script: ctx.query.evil === undefined ? 'document.title = 1' : "'</script><img>'" }),
    );
    router.get('/idp/even', (ctx) =>
      view(ctx, { title: { plain: 'Even' }, parts: [{ part: 'link', text: { plain: 'x' }, href: 'javascript:1' }] }),
    );
  },
};
const service = useIdp({ extensions: [terms, policy, preferences, odd] });
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const open = async (agent: Agent, parameters: Record<string, string> = {}): Promise<Answer> =>
  agent.follow(await agent.get(url(parameters)));

describe('house §5: c.view', () => {
  test('shows a page in the language of the sign-in, escaped, with the headers of the other pages', async () => {
    const agent = new Agent();
    const page = await signIn(agent, url({ ui_locales: 'sv' }));
    expect(page.body).toContain('<html lang="sv"');
    expect(page.body).toContain('<h1>Terms of &lt;Acme&gt; &amp; co [sv]</h1>');
    expect(page.body).toContain('<p class="names">för att fortsätta till Web shop</p>');
    const ofSignIn = await open(new Agent());
    for (const name of ['content-security-policy', 'x-frame-options', 'referrer-policy', 'cache-control'])
      expect([name, page.headers.get(name)]).toEqual([name, ofSignIn.headers.get(name)]);
    expect(page.headers.get('content-security-policy')).not.toContain('script-src');
  });

  test('guards its form, says what is wrong, goes on, and can be cancelled', async () => {
    const agent = new Agent();
    const page = await signIn(agent, url());
    const { action, fields } = formOf(page);
    expect((await agent.post(action, { ...fields, csrf: 'x', agree: 'yes' })).status).toBe(403);
    const refused = await agent.post(action, { csrf: fields.csrf ?? '' });
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('role="alert"')]);
    expect(refused.body).toContain('<title>Error: ');
    expect(membersOf(await agent.follow(await agent.post(action, { csrf: fields.csrf ?? '', agree: 'yes' })))).toHaveProperty('code');
    accepted.clear();
    const other = new Agent();
    const again = await signIn(other, url());
    expect(again.body).toMatch(/formaction="[^"]*\/cancel"/);
    expect(
      membersOf(await other.follow(await other.post(formOf(again).action.replace('/terms', '/cancel'), formOf(again).fields))),
    ).toMatchObject({
      error: 'access_denied',
    });
  });

  test('runs its own script and no other, by its hash', async () => {
    const page = await new Agent().get(`${service.issuer}/idp/scripted`);
    expect(page.body).toContain('<script>document.title = 1</script>');
    const hash = createHash('sha256').update('document.title = 1').digest('base64');
    expect(page.headers.get('content-security-policy')).toContain(`script-src 'sha256-${hash}';`);
    expect((await new Agent().get(`${service.issuer}/idp/scripted?evil=yes`)).status).toBe(500);
  });

  test('fails on a text that there is not, and leads nowhere but to http(s)', async () => {
    expect((await new Agent().get(`${service.issuer}/idp/odd`)).status).toBe(500);
    expect((await new Agent().get(`${service.issuer}/idp/even`)).body).toContain('href="#"');
  });
});

describe('what is added to the pages', () => {
  test('is at the foot of every page of a sign-in, where it applies', async () => {
    const agent = new Agent();
    const first = await open(agent, { ui_locales: 'de' });
    for (const page of [first, await agent.submit(first, { identifier: 'alice@acme.test' })]) {
      expect(page.body).toContain('href="https://acme.test/privacy">Privacy [de]</a>');
      expect(page.body).toContain('href="/help">Help [de]</a>');
      expect(page.body).toContain('<li>Only for staff [de]</li>');
      expect(page.body).toContain('<li>Opened by Web shop [de]</li>');
    }
    expect((await open(new Agent(), { client_id: 'third-party' })).body).not.toMatch(/href="\/help"|Opened by/);
  });

  test('“create account” is a link where people may create one, and only there', async () => {
    const [globex] = (await service.idp.directory.tenants.find()).filter(({ name }) => name === 'Globex');
    const tid = globex?.id ?? '';
    const agent = new Agent();
    expect((await open(agent, { acr_values: `tenant:${tid}` })).body).not.toContain('Create account');
    const closed = await agent.get(`${(await open(agent, { acr_values: `tenant:${tid}` })).url}/create`);
    expect(formOf(await agent.follow(closed)).fields).toHaveProperty('identifier');
    await service.idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    expect((await open(agent)).body).not.toContain('Create account');
    const page = await open(agent, { acr_values: `tenant:${tid}` });
    const link = /href="([^"]*\/create)"/.exec(page.body)?.[1] ?? '';
    const filled = { givenName: 'Dora', familyName: 'Dahl', email: 'dora@globex.test', password: 'a long enough password' };
    const next = await agent.follow(await agent.submit(await agent.follow(await agent.get(new URL(link, page.url).href)), filled));
    expect(next.body).toContain('<h1>Terms of');
  });
});

describe('the account page', () => {
  const linksOf = ({ body }: Answer) =>
    [...body.matchAll(/<a class="account" href="([^"]*)">.*?<strong><bdi>(.*?)<\/bdi>/g)].map(([, href, title]) => [href, title]);

  test('asks for a sign-in, and leads to what the service and its extensions have for people, in their language', async () => {
    const agent = new Agent();
    const asked = await agent.follow(await agent.get(`${service.issuer}/idp/account`));
    const named = await agent.submit(asked, { identifier: 'bob@globex.test' });
    const terms = await agent.follow(await agent.submit(await agent.follow(named), { password: 'bob' }));
    const page = await agent.follow(await agent.submit(terms, { agree: 'yes' }));
    expect([page.url, page.body]).toEqual([`${service.issuer}/idp/account`, expect.stringContaining('<h1>Your account</h1>')]);
    expect(page.body).toContain('You are signed in as bob@globex.test (Globex).');
    const pageAt = (path: string) => service.issuer + path;
    const all = linksOf(page);
    // The section of a host without a group is the last one. Sections of other users do not appear.
    expect([all.at(0), all.at(1), all.at(-1)]).toEqual([
      [pageAt('/idp/account/profile'), 'Profile'],
      ['/badge/Globex', 'Preferences [en]'],
      [pageAt('/idp/preferences'), 'Preferences [en]'],
    ]);
    const wanted = ['/idp/account/password', '/idp/factors', '/idp/identities', '/idp/linked-accounts', '/idp/ciba'].map(pageAt);
    expect(all.map(([href]) => href).filter((href) => wanted.includes(String(href)))).toEqual(wanted);
    const headings = [...page.body.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, text]) => text);
    expect([headings[0], headings[1], headings.at(-1)]).toEqual(['About you', 'Signing in', 'More']);
    expect(page.body).toContain('What you &lt;like&gt; [en]');
    expect((await agent.request(page.url, { headers: { 'accept-language': 'fi' } })).body).toContain('<h1>Tilisi</h1>');
  });

  test('a sign-in that was cancelled leads back to it', async () => {
    const agent = new Agent();
    const asked = await agent.follow(await agent.get(`${service.issuer}/idp/account`));
    const { action, fields } = formOf(asked);
    const left = await agent.follow(await agent.post(action.replace('/identifier', '/cancel'), fields));
    expect([left.status, left.body]).toEqual([403, expect.stringContaining(`href="${service.issuer}/idp/account"`)]);
  });
});

describe('house §5: what cannot be shown is refused at start', () => {
  const added = (name: string, additions: readonly PageAddition[]): Extension => ({
    name,
    texts: inAll({ [`${name}.one`]: 'One' }),
    pageAdditions: additions,
  });
  const sectioned = added('other', []);
  const { nb: _, ...incomplete } = inAll({ 'odd.one': 'One' });
  test.each<[string, Extension[], RegExp]>([
    [
      'two of one name',
      [policy, added('other', [{ name: 'help', text: 'other.one' }])],
      /one owner of the addition help to the pages, got policy and other/,
    ],
    ['a text that there is not', [added('other', [{ name: 'x', text: 'other.two' }])], /extensions\.other\.pageAdditions\.x\.text/],
    ['a language that lacks texts', [{ name: 'odd', texts: incomplete as never }], /extensions\.odd\.texts\.nb/],
    ['a key of somebody else', [{ name: 'odd', texts: inAll({ 'terms.title': 'x' }) }], /a key that begins with 'odd\.'/],
    [
      'two sections of one name',
      [
        preferences,
        { ...sectioned, accountSections: [{ name: 'letters', title: 'other.one', summary: 'other.one', href: () => undefined }] },
      ],
      /one owner of the section letters of the account page, got preferences and other/,
    ],
    [
      'a section without words',
      [{ ...sectioned, accountSections: preferences.accountSections ?? [] }],
      /extensions\.other\.accountSections\.preferences\.title/,
    ],
    ['sections that are none', [{ name: 'odd', accountSections: [{ name: 'x' }] as never }], /extensions\[0\]\.accountSections/],
    [
      'a section of an unknown group',
      [
        {
          ...sectioned,
          accountSections: [{ name: 'x', title: 'other.one', summary: 'other.one', href: () => '/x', group: 'mine' as never }],
        },
      ],
      /extensions\[0\]\.accountSections.*a group of person, signIn, activity, data, more/,
    ],
    ['additions that are none', [{ name: 'odd', pageAdditions: [{ name: 'x' }] as never }], /extensions\[0\]\.pageAdditions/],
  ])('%s', async (_name, extensions, message) => {
    await expect(startIdp({ extensions })).rejects.toThrow(message);
  });
});
