/** The language menu: the languages of the service, on every page that stays, regardless of how the browser reached the page. */
import { describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { journeySeed } from '../support/client/journey.js';
import { responseOf } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({ seed: journeySeed, locales: ['en', 'de', 'nb'] });

const menuOf = ({ body }: Answer) => /<nav class="languages"[\s\S]*?<\/nav>/.exec(body)?.[0] ?? '';
const languagesOf = (page: Answer) =>
  [...menuOf(page).matchAll(/lang="(\w+)"/g)].map(([, tag]) => tag).filter((tag, i, all) => all.indexOf(tag) === i);
const languageOf = ({ body }: Answer) => /<html lang="(\w+)"/.exec(body)?.[1];
const linkTo = (page: Answer, language: string) => {
  const href = new RegExp(`<a class="text-link" href="([^"]+)" lang="${language}"`).exec(menuOf(page))?.[1]?.replaceAll('&amp;', '&');
  return new URL(href ?? 'missing:', page.url).href;
};
const request = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const begin = (agent: Agent) => agent.get(request()).then((answer) => agent.follow(answer));

describe('pages §3.1: the language menu', () => {
  test('has the languages of the option `locales`, in their order', async () => {
    expect(languagesOf(await begin(new Agent()))).toEqual(['en', 'de', 'nb']);
  });

  test('is on the password page, which stays in its place', async () => {
    const agent = new Agent();
    const password = await agent.submit(await begin(agent), { identifier: 'alice@acme.test' });
    expect(languagesOf(password)).toEqual(['en', 'de', 'nb']);
    const menu = { ...password, body: menuOf(password) };
    const german = await agent.submit(menu, { ui_locales: 'de' });
    expect([german.status, languageOf(german)]).toEqual([200, 'de']);
    expect(formOf(german).fields.identifier).toBe('alice@acme.test');
    const wrong = await agent.submit(german, { password: 'wrong' });
    expect([wrong.status, languageOf(wrong), languagesOf(wrong)]).toEqual([400, 'de', ['en', 'de', 'nb']]);
    const norwegian = await agent.submit({ ...wrong, body: menuOf(wrong) }, { ui_locales: 'nb' });
    const done = await agent.follow(await agent.submit(norwegian, { password: 'alice' }));
    expect(responseOf(done).get('code')).toEqual(expect.any(String));
  });

  test('leads from another page that a form brought about to the page of the sign-in', async () => {
    const agent = new Agent();
    const first = await begin(agent);
    for (const fields of [{ identifier: '' }, { identifier: 'alice@acme.test', csrf: 'x' }]) {
      const refused = await agent.submit(first, fields);
      expect(refused.status).toBeGreaterThanOrEqual(400);
      const german = await agent.get(linkTo(refused, 'de'));
      expect([german.status, languageOf(german), formOf(german).action]).toEqual([200, 'de', formOf(first).action]);
    }
  });

  test('is on an expired sign-in, by GET and by POST', async () => {
    const agent = new Agent();
    const url = `${service.issuer}/idp/interaction/nothing-of-that-name0`;
    for (const expired of [await agent.get(url), await agent.post(`${url}/password`, { identifier: 'a', password: 'b' })]) {
      const german = await agent.get(linkTo(expired, 'de'));
      expect([expired.status, german.status, languageOf(german)]).toEqual([400, 400, 'de']);
    }
  });

  test('keeps the request of an error page, and of the question whether to sign out', async () => {
    const agent = new Agent();
    const refused = await agent.get(request({ client_id: 'nobody', state: 'a&b', ui_locales: 'nb' }));
    const german = await agent.get(linkTo(refused, 'de'));
    expect([german.status, languageOf(refused), languageOf(german)]).toEqual([400, 'nb', 'de']);
    expect(new URL(german.url).searchParams.get('state')).toBe('a&b');
    expect(new URL(german.url).searchParams.getAll('ui_locales')).toEqual(['de']);

    const signedIn = new Agent();
    const password = await signedIn.submit(await begin(signedIn), { identifier: 'alice@acme.test' });
    await signedIn.follow(await signedIn.submit(password, { password: 'alice' }));
    const question = await signedIn.get(`${service.issuer}/connect/endsession`);
    expect(languageOf(await signedIn.get(linkTo(question, 'de')))).toBe('de');
  });
});
