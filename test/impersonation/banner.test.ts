/** Issue 15, threat G8: every page of the service visibly shows the impersonation; applications get a banner script. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, signIn } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions } from '../support/sign-in/impersonating.js';
import { countedStores } from '../support/stores/counted-stores.js';
import { until } from '../support/time/until.js';

const counted = countedStores();
const service = useIdp({ ...operatorOptions, artifacts: counted.artifacts, directory: counted.directory });
const at = (path: string): string => `${service.issuer}${path}`;

/** Returns the text and the link of the banner; undefined on a page without one. */
function bannerOn({ body }: Answer): { readonly says: string; readonly end: string | undefined } | undefined {
  const [banner] = /<header class="acting">[\s\S]*?<\/header>/.exec(body) ?? [];
  return banner === undefined ? undefined : { says: /<p>([^<]*)<\/p>/.exec(banner)?.[1] ?? '', end: /href="([^"]*)"/.exec(banner)?.[1] };
}

describe('every page of ours says who acts as whom, with a link to end it', () => {
  let agent: Agent;
  let honest: Agent;
  beforeAll(async () => {
    ({ agent } = await impersonatingAt(service).act('carol@acme.test'));
    honest = new Agent();
    await signIn(honest, impersonatingAt(service).url());
  });

  const pages: Readonly<Record<string, (by: Agent) => Promise<Answer>>> = {
    'the sign-in page': async (by) => by.follow(await by.get(impersonatingAt(service).url({ prompt: 'login' }))),
    'the account chooser': async (by) => by.follow(await by.get(impersonatingAt(service).url({ prompt: 'select_account' }))),
    'an error': (by) => by.get(at('/connect/authorize?client_id=nobody')),
    'the question of a sign-out': (by) => by.get(at('/connect/endsession')),
    'a link that is wrong': (by) => by.get(at('/idp/interaction/none/restart')),
    'a page of an extension': (by) => by.get(at('/idp/impersonation')),
    'a page that is for the user alone': (by) => by.get(at('/idp/factors')),
  };
  test.each(Object.entries(pages))('%s', async (_, open) => {
    expect(bannerOn(await open(agent))).toEqual({
      says: 'Otto Test (otto@acme.test) is acting as Carol Clark (carol@acme.test).',
      end: at('/idp/impersonation'),
    });
    expect(bannerOn(await open(honest))).toBeUndefined();
  });

  test('in the language of the page', async () => {
    const page = await agent.get(at('/connect/authorize?client_id=nobody&ui_locales=nb'));
    expect(bannerOn(page)?.says).toBe('Otto Test (otto@acme.test) opptrer som Carol Clark (carol@acme.test).');
  });

  test('who does not act costs no round trip', async () => {
    const open = (by: Agent) => by.get(at('/idp/interaction/none/restart'));
    expect((await counted.during(() => open(honest))).asked).toEqual((await counted.during(() => open(new Agent()))).asked);
    expect((await counted.during(() => open(agent))).asked).not.toEqual((await counted.during(() => open(honest))).asked);
  });

  test('is gone with the end', async () => {
    const { act, end } = impersonatingAt(service);
    const { agent: browser } = await act('carol@acme.test');
    const error = () => browser.get(at('/connect/authorize?client_id=nobody'));
    expect(bannerOn(await error())).toBeDefined();
    const ended = await browser.follow(await end(browser));
    expect(bannerOn(ended)).toBeUndefined();
    expect(bannerOn(await error())).toBeUndefined();
    expect([...browser.cookies.keys()].filter((name) => name.includes('impersonation'))).toEqual([]);
  });

  test('says nothing of a cookie that somebody set', async () => {
    const browser = new Agent();
    await signIn(browser, impersonatingAt(service).url());
    browser.cookies.set('idp.impersonation /', { value: '1', path: '/' });
    expect(bannerOn(await browser.get(at('/connect/authorize?client_id=nobody')))).toBeUndefined();
  });
});

describe('the banner script for applications', () => {
  const script = () => fetch(at('/idp/impersonation/banner.js'), { headers: { cookie: 'idp.session=x' } });

  test('is public, the same for everybody, kept by browsers, and small', async () => {
    const answer = await script();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(answer.headers.get('vary') ?? '').not.toMatch(/cookie/i);
    const source = await answer.text();
    expect(source.length).toBeLessThan(4_000);
    expect(source).not.toMatch(/cookie|fetch|XMLHttpRequest|sendBeacon|localStorage|innerHTML|eval/);
    const etag = answer.headers.get('etag') ?? '';
    const headers = { 'if-none-match': etag, 'cache-control': 'max-age=3600' };
    const again = await fetch(at('/idp/impersonation/banner.js'), { headers });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  });

  // Jobs of the service read the stores from time to time, so the count is retried.
  test('asks no store', async () => {
    expect(
      await until(
        async () => (await counted.during(script)).asked,
        ({ length }) => length === 0,
      ),
    ).toEqual([]);
  });
});

describe('without the option', () => {
  const plain = useIdp();
  test('there is no banner script', async () => {
    expect((await fetch(`${plain.issuer}/idp/impersonation/banner.js`)).status).toBe(404);
  });
});
