import { describe, expect, test } from '@jest/globals';
import { pagePolicy, renderPage } from '../../extensions/sign-in/render.js';
import type { PageFrame, PageView } from '../../extensions/sign-in/view-models.js';
import { hashSource, pageHeaders } from '../../lib/http/pages/security-headers.js';
import { problemsOf } from '../../lib/testing/pages.js';
import { gallery } from '../support/browser/page-gallery.js';
import { fill, hostileTexts } from '../support/requests/hostile-content.js';

const frame: PageFrame = { locale: 'en', client: { name: 'Orders' }, tenant: { name: 'Acme' }, reference: 'r-1' };
const form = { action: '/i/1', csrf: 't' };
const title = (markup: string) => /<title>(.*)<\/title>/.exec(markup)?.[1];

/** Returns the element and attribute names of a document, which content must not change. */
const skeleton = (markup: string) =>
  [...markup.replace(/<style>.*?<\/style>/gs, '').matchAll(/<(\/?[a-z0-9]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>/g)].map(
    ([, name, attributes = '']) => [name, ...[...attributes.matchAll(/\s([a-z-]+)(?:="[^"]*")?/g)].map((match) => match[1])],
  );

describe('renderPage', () => {
  test.each(gallery)('G7 A5: no content changes the markup of $name', ({ view, frame: surroundings }) => {
    const withName = (text: string) =>
      renderPage(fill(view, text), fill({ ...surroundings, branding: { accentColor: '', logoUri: '' } }, text));
    const expected = skeleton(withName('plain')).filter(([name]) => name !== 'wbr');
    for (const text of hostileTexts) {
      const markup = withName(text);
      expect(skeleton(markup).filter(([name]) => name !== 'wbr')).toEqual(expected);
      expect(markup).not.toMatch(/(?:href|src|action)="(?!#|\/|\?|https?:)/);
      expect(markup.split('<').length - 1).toBe((markup.match(/<[a-z/!]/g) ?? []).length);
    }
  });

  test('A5: the hand-over page escapes the names of its fields, and posts to http(s) only', () => {
    const name = '"><script>alert(1)</script>';
    const markup = renderPage({ page: 'continue', method: 'post', action: 'https://app.example/cb', fields: { [name]: name } }, frame);
    const escaped = '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;';
    expect(markup).toContain(`<input type="hidden" name="${escaped}" value="${escaped}">`);
    expect(renderPage({ page: 'continue', method: 'post', action: 'javascript:1', fields: {} }, frame)).toContain('action="#"');
  });

  test.each(gallery)('G7: the policy of $name admits exactly its styles and script', ({ view, frame: surroundings }) => {
    const markup = renderPage(view, surroundings);
    const csp = pageHeaders('https://login.example.com', pagePolicy(view, surroundings))['Content-Security-Policy'];
    const sources = (tag: string) =>
      [...markup.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map((match) => hashSource(match[1] ?? ''));
    expect(csp).toContain(`style-src ${sources('style').join(' ')};`);
    expect(/script-src ([^;]*)/.exec(csp ?? '')?.[1]).toBe(sources('script').join(' ') || undefined);
    expect(markup).not.toMatch(/\s(?:style|on\w+)=/);
  });

  test('F9: the page of a sign-out frames the applications it has to call, in a sandbox, and their origins alone', () => {
    const frames = [
      { uri: 'https://app.example/logout?iss=a&sid="b', name: '<b>Orders</b>' },
      { uri: 'https://app.example/other', name: 'Invoices' },
      { uri: 'https://another.example:8443/x;y', name: 'Another' },
    ];
    const view: PageView = { page: 'signed-out', frames, next: '/connect/endsession/success?result=1&next=' };
    const markup = renderPage(view, frame);
    expect(markup).toContain('<iframe src="https://app.example/logout?iss=a&amp;sid=&quot;b" title="&lt;b&gt;Orders&lt;/b&gt;" sandbox=');
    expect(markup.match(/ sandbox="allow-scripts allow-same-origin" hidden>/g)).toHaveLength(3);
    const csp = pageHeaders('https://login.example.com', pagePolicy(view, frame))['Content-Security-Policy'];
    expect(csp).toContain('; frame-src https://app.example https://another.example:8443; ');
    const [, script = ''] = /<script>(.*?)<\/script>/s.exec(markup) ?? [];
    expect(csp).toContain(`; script-src ${hashSource(script)}; `);
    const plain: PageView = { page: 'signed-out' };
    expect(pageHeaders('https://login.example.com', pagePolicy(plain, frame))['Content-Security-Policy']).not.toMatch(
      /frame-src|script-src/,
    );
  });

  test('pages §3.1: the client and the organisation are in the title and on the page', () => {
    const markup = renderPage({ page: 'identifier', ...form }, frame);
    expect(title(markup)).toBe('Sign in to Orders – Acme');
    expect(markup).toContain('<h1>Sign in to Orders</h1>');
    expect(markup).toContain('<p class="names">Acme</p>');
    expect(renderPage({ page: 'signed-out' }, frame)).toContain('<p class="names">Orders · Acme</p>');
  });

  test('an address breaks after punctuation, and a time does not', () => {
    const lines = ['alice.andersen@acme.test', 'Kirjauduttu 29. marraskuuta 2026 klo 11.57 (UTC)'];
    const markup = renderPage(
      { page: 'view', title: 'Sessions', parts: [{ part: 'entries', entries: [{ title: 'Here', lines }] }] },
      frame,
    );
    expect(markup).toContain('<bdi>alice.<wbr>andersen@<wbr>acme.<wbr>test</bdi>');
    expect(markup).toContain('klo 11.57 (UTC)</bdi>');
  });

  test('a sign-in for the own pages of the user names the account, in the heading or below it', () => {
    const { client: _, ...rest } = frame;
    const own: PageFrame = { ...rest, isForAccount: true, isStep: true };
    const asked = renderPage({ page: 'identifier', ...form }, own);
    expect(asked).toContain('<h1>Sign in to your account</h1>\n<p class="names">Acme</p>');
    const choice: PageView = { page: 'accounts', ...form, other: '/i', choices: [] };
    expect(renderPage(choice, own)).toContain('<p class="names">to continue to your account<br>Acme</p>');
  });

  test('pages §3.1: a problem of one field is in the title and said once, tied to its field, which has the focus', () => {
    const view: PageView = {
      page: 'password',
      ...form,
      identifier: 'alice',
      restart: '/i',
      problem: 'credentials.mismatch',
    };
    const markup = renderPage(view, frame);
    expect(title(markup)).toBe('Error: Sign in to Orders – Acme');
    expect(markup.match(/That <span class="whole">e-mail<\/span> and password don’t match\./g)).toHaveLength(1);
    expect(markup).not.toContain('role="alert"');
    expect(markup).toMatch(/<input id="password"[^>]* autofocus aria-invalid="true" aria-describedby="password-problem"/);
    expect(problemsOf({ body: markup })).toEqual(['That e-mail and password don’t match.']);
    expect(markup).toContain('<p class="field-problem" id="password-problem">That ');
  });

  test.each(gallery)('issue 14: $name weighs 30 kB or less, and loads nothing of anybody else', ({ view, frame: surroundings }) => {
    const markup = renderPage(view, surroundings);
    expect(Buffer.byteLength(markup)).toBeLessThanOrEqual(30_000);
    expect(markup).not.toMatch(/<(?:link|script|img|iframe)\b[^>]*\s(?:src|href)="(?:https?:)?\/\//);
  });

  test('pages §3.1: several problems are all in a summary that leads to each field, the first of which has the focus', () => {
    const view: PageView = {
      page: 'create',
      ...form,
      passwordLength: 15,
      signIn: '/i',
      problems: ['familyName.invalid', 'password.weak'],
    };
    const markup = renderPage(view, frame);
    expect([...markup.matchAll(/<li><a href="#(\w+)">/g)].map(([, name]) => name)).toEqual(['familyName', 'password']);
    expect(markup).toMatch(/<input id="familyName"[^>]* autofocus aria-invalid/);
    expect(markup.match(/ autofocus/g)).toHaveLength(1);
    expect(renderPage({ ...view, problems: ['email.taken'] }, frame).match(/There is an account/g)).toHaveLength(1);
  });

  test('pages §3.1: a problem of no field takes the focus itself', () => {
    const view: PageView = {
      page: 'password',
      ...form,
      identifier: 'a',
      restart: '/i',
      problem: 'attempts.exceeded',
      minutes: 1,
    };
    const markup = renderPage(view, frame);
    expect(markup).toMatch(/role="alert" tabindex="-1" autofocus>/);
    expect(markup).toContain('Try again in 1 minute.');
    expect(markup.match(/autofocus/g)).toHaveLength(1);
    expect(markup).not.toContain('aria-invalid=');
  });

  test('design §6: a custom scope shows its description, else its name; known scopes have texts', () => {
    const scopes = [{ name: 'email', description: 'x' }, { name: 'hr', description: 'Your cost centre' }, { name: '__proto__' }];
    const person = { personName: 'Alice', userName: 'alice', tenantName: 'Acme' };
    const markup = renderPage({ page: 'consent', ...form, ...person, scopes }, { ...frame, locale: 'de' });
    expect([...markup.matchAll(/<li><p>(.*?)<\/p>/g)].map(([, words = '']) => words.replace(/<[^>]*>/g, ''))).toEqual([
      'Ihre E-Mail-Adresse sehen',
      'Your cost centre',
      '__proto__',
    ]);
  });

  test('pages §3.2: an error leads to a new start, else back to the client', () => {
    const known = { ...frame, client: { name: 'Orders', uri: 'https://orders.example/' } };
    const back = '<a class="button" href="https://orders.example/">Back to Orders</a>';
    expect(renderPage({ page: 'error' }, known)).toContain(back);
    expect(renderPage({ page: 'expired' }, known)).toContain(back);
    const restarted = renderPage({ page: 'error', restart: '/authorize' }, known);
    expect(restarted).toContain('<a class="button" href="/authorize">Start again</a>');
    expect(restarted).not.toContain(back);
  });

  test('pages §3.2: what developers see is shown only when given, and the reference only where something failed', () => {
    expect(renderPage({ page: 'error' }, frame)).not.toContain('For developers');
    expect(renderPage({ page: 'error', developer: { error: 'invalid_client' } }, frame)).toContain('<dd>invalid_client</dd>');
    expect(renderPage({ page: 'error' }, frame)).toContain('<code>r-1</code>');
    expect(renderPage({ page: 'identifier', ...form }, frame)).not.toContain('r-1');
  });

  test('pages §3.1: the language menu marks the page’s language and is there when asked for', () => {
    expect(renderPage({ page: 'unavailable' }, frame)).not.toContain('<nav');
    const markup = renderPage(
      { page: 'unavailable' },
      { ...frame, locale: 'nb', languages: { locales: ['nb', 'fi'], link: '?ui_locales=' } },
    );
    expect(markup).toContain('<html lang="nb" dir="ltr">');
    expect(markup).toContain('href="?ui_locales=nb" lang="nb" hreflang="nb" aria-current="true">Norsk bokmål</a>');
    expect(markup).toContain('href="?ui_locales=fi" lang="fi" hreflang="fi">Suomi</a>');
    expect(markup).not.toContain('Svenska');
  });

  test('G2: the password page is the same whatever the account, but for the name typed', () => {
    const page = (identifier: string) => renderPage({ page: 'password', ...form, identifier, restart: '/i' }, frame);
    expect(page('alice').replaceAll('alice', 'x')).toBe(page('aaron').replaceAll('aaron', 'x'));
  });

  test('issue 46: only persons have initials; an application has the logo of the look, or no mark', () => {
    const markup = renderPage({ page: 'identifier', ...form }, { ...frame, client: { name: 'localhost:3000' } });
    expect(markup).not.toMatch(/class="(?:mark|avatar|logo)"/);
    const branded = { ...frame, branding: { logoUri: '/logo.svg' } };
    expect(renderPage({ page: 'identifier', ...form }, branded)).toContain('<img class="logo" src="/logo.svg" alt="">');
    const choice = { value: '1', tenantName: 'Acme', personName: 'Alice', userName: 'alice' };
    expect(renderPage({ page: 'organisation', ...form, identifier: 'alice', choices: [choice] }, frame)).not.toContain('class="avatar"');
    const known = { page: 'accounts', ...form, other: '/i', choices: [{ ...choice, isSignedIn: true }] } as const;
    expect(renderPage(known, frame)).toContain('<span class="avatar" aria-hidden="true">A</span>');
  });

  test('issue 46: each step continues to the application, in one form, or has its name in the heading', () => {
    const step: PageFrame = { ...frame, isStep: true };
    const line = (markup: string) => /<p class="names">(.*?)<\/p>/.exec(markup)?.[1];
    const choice = { value: '1', tenantName: 'Acme', personName: 'Alice', userName: 'alice' };
    const consent = { personName: 'Alice', userName: 'alice', tenantName: 'Acme', scopes: [] };
    const views: readonly PageView[] = [
      { page: 'accounts', ...form, other: '/i', choices: [{ ...choice, isSignedIn: true }] },
      { page: 'organisation', ...form, identifier: 'alice', choices: [choice] },
      { page: 'create', ...form, passwordLength: 15, signIn: '/i' },
      { page: 'view', title: 'Confirm that it is you', parts: [] },
    ];
    expect(views.map((view) => line(renderPage(view, step)))).toEqual(views.map(() => 'to continue to Orders<br>Acme'));
    for (const view of [
      { page: 'identifier', ...form },
      { page: 'consent', ...form, ...consent },
    ] as const)
      expect(line(renderPage(view, step))).toBe('Acme');
    expect(line(renderPage({ page: 'view', title: 'Your account', parts: [] }, frame))).toBe('Orders · Acme');
  });

  test('issue 46: the links of the branding are at the foot of each page, and a new account accepts the terms', () => {
    const branding = { privacyUri: 'https://acme.test/privacy', termsUri: '/terms', helpUri: 'http://help.acme.test/' };
    const foot = (markup: string) =>
      [...(markup.split('<footer>')[1] ?? '').matchAll(/href="([^"]+)"[^>]*>([^<]+)</g)].map(([, ...each]) => each);
    expect(foot(renderPage({ page: 'unavailable' }, { ...frame, branding }))).toEqual([
      ['https://acme.test/privacy', 'Privacy'],
      ['/terms', 'Terms'],
      ['http://help.acme.test/', 'Help'],
    ]);
    expect(renderPage({ page: 'unavailable' }, frame)).not.toContain('<ul class="additions">');
    const create = { page: 'create', ...form, passwordLength: 15, signIn: '/i' } as const;
    expect(renderPage(create, { ...frame, branding })).toMatch(/you accept the <a href="\/terms"[^>]*>Terms of service<\/a>\./);
    expect(renderPage(create, frame)).not.toContain('you accept');
    expect(renderPage(create, { ...frame, branding: { termsUri: 'javascript:1' } })).not.toContain('javascript:');
  });

  test('issue 46: the rule of a password and the use of a field are tied to the field', () => {
    const create = renderPage({ page: 'create', ...form, passwordLength: 15, signIn: '/i', problems: ['password.weak'] }, frame);
    expect(create).toMatch(/<input id="password"[^>]* aria-describedby="password-hint password-problem"/);
    expect(create).toContain('<p class="hint" id="password-hint">Choose a password of at least 15 characters.</p>');
    const password = renderPage({ page: 'password', ...form, identifier: 'a', restart: '/i', organisation: '' }, frame);
    expect(password).toMatch(/<input id="organisation"[^>]* aria-describedby="organisation-hint"/);
  });

  test('issue 46: “e-mail” stays in one line, as the same text, and values of the user stay as they are', () => {
    const textOf = (markup: string) => markup.replace(/<[^>]*>/g, '');
    const german: PageFrame = { ...frame, locale: 'de', client: { name: 'Our e-mail' } };
    const markup = renderPage({ page: 'identifier', ...form, identifier: 'e-mail@acme.test' }, german);
    expect(markup).toContain('<span class="whole">E-Mail-Adresse</span> oder Benutzername');
    expect(textOf(markup)).toContain('E-Mail-Adresse oder Benutzername');
    expect(markup).toContain('value="e-mail@acme.test"');
    expect(markup).toContain('<title>Bei Our e-mail anmelden – Acme</title>');
    const posted = renderPage(
      { page: 'continue', method: 'post', action: 'https://app.example/', fields: { _charset_: 'an e-mail' } },
      frame,
    );
    expect(posted).toContain('hidden>\nan e-mail</textarea>');
    const parts = [{ part: 'button', text: 'Change the e-mail' }] as const;
    expect(renderPage({ page: 'view', title: 'x', parts }, frame)).toContain(
      '<span>Change the <span class="whole">e-mail</span></span></button>',
    );
  });

  test('issue 46: a signed-out page leads on, and so does the page of a path that does not exist', () => {
    const known = { ...frame, client: { name: 'Orders', uri: 'https://orders.example/' } };
    const again = '<a class="button quiet" href="/idp/account">Sign in again</a>';
    expect(renderPage({ page: 'signed-out', signIn: '/idp/account' }, frame)).toContain(again);
    expect(renderPage({ page: 'signed-out', returnUrl: 'https://orders.example/' }, known)).toContain('Back to Orders</a>');
    const missing = renderPage({ page: 'not-found', account: '/idp/account' }, { locale: 'en' });
    expect(missing).toContain('<a class="button" href="/idp/account">Go to your account</a>');
  });

  test('issue 46: the consent page says which data, has no ticks, and leads to where it can be taken back', () => {
    const person = { personName: 'Alice', userName: 'alice', tenantName: 'Acme' };
    const scopes = [{ name: 'email', data: ['alice@acme.test', 'a@home.test'] }, { name: 'openid' }];
    const markup = renderPage({ page: 'consent', ...form, ...person, scopes, withdraw: '/idp/account/applications' }, frame);
    expect(markup).toContain('<p class="data"><bdi>alice@acme.test, a@home.test</bdi></p>');
    expect(/<ul class="scopes">[\s\S]*?<\/ul>/.exec(markup)?.[0]).not.toContain('<svg');
    expect(markup).toMatch(/take this back at any time in <a href="\/idp\/account\/applications"[^>]*>your account<\/a>\./);
    expect(renderPage({ page: 'consent', ...form, ...person, scopes }, frame)).toContain('take this back at any time in your account.');
  });

  test('issue 46: other ways to sign in have an outline, except for the only way', () => {
    const label = Object.fromEntries(['en', 'nb', 'sv', 'da', 'fi', 'de'].map((locale) => [locale, 'Contoso'])) as never;
    const others = { action: '/i/method', buttons: [{ idp: 'contoso', label }] };
    const buttons = (markup: string) => [...markup.matchAll(/<button class="([^"]+)"[^>]*>([^<]+)</g)].map(([, ...each]) => each);
    expect(buttons(renderPage({ page: 'identifier', ...form, others }, frame))).toEqual([
      ['button', 'Continue'],
      ['button quiet', 'Contoso'],
    ]);
    expect(buttons(renderPage({ page: 'identifier', ...form, others, isElsewhere: true }, frame))).toEqual([['button', 'Contoso']]);
  });
});
