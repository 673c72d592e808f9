/** Paths to which no link of the service leads. */
import { expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { rawRequest } from '../support/client/raw-request.js';
import { expectNothingInternal, expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp();

const uids = ['x;y', ';', 'x;y%0d%0aa:b', '%ff', '%', '%00', '%2f', '..;', `${'A'.repeat(43)};`, 'A'.repeat(42), 'A'.repeat(44)];
const queries = ['', '?ui_locales=de', `?ui_locales=${'x'.repeat(99)}%F0%9F%98%80`, '?ui_locales=%3B', '?restart=yes&ui_locales=nb'];

test.each(uids)('M13: an interaction called %j is a sign-in that is over, whatever is asked of it', async (uid) => {
  for (const path of ['/idp/interaction/:uid', '/idp/interaction/:uid/restart', '/connect/authorize/:uid'])
    for (const query of queries) {
      const answer = await rawRequest(
        service.issuer,
        [`GET ${path.replace(':uid', uid)}${query} HTTP/1.1`, 'Host: x', 'Accept: text/html'],
        '',
      );
      expect({ path, query, status: answer.status }).toEqual({ path, query, status: 400 });
      expect(answer.head).toMatch(/^content-type: text\/html/im);
      expect(answer.head).not.toMatch(/^(set-cookie|location):/im);
      expectNothingInternal(answer.body);
    }
  const posted = await rawRequest(
    service.issuer,
    [`POST /idp/interaction/${uid}/password?ui_locales=de HTTP/1.1`, 'Host: x'],
    'identifier=x',
  );
  expect(posted.status).toBe(400);
  const wrongMethod = await rawRequest(service.issuer, [`GET /idp/interaction/${uid}/password?ui_locales=de HTTP/1.1`, 'Host: x'], '');
  expect(wrongMethod.status).toBe(405);
});

test('M13: a language is remembered at the path of a sign-in that is there, and nowhere else', async () => {
  const agent = new Agent();
  const { challenge } = createPkce();
  const page = await agent.follow(
    await agent.get(authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256' })),
  );
  const locales = async (address: string) =>
    (await agent.get(address)).headers.getSetCookie().filter((line) => line.startsWith('idp.locale='));
  const { pathname } = new URL(page.url);
  expect(await locales(`${page.url}?ui_locales=de`)).toEqual([`idp.locale=de; path=${pathname}; samesite=lax; httponly`]);
  for (const chosen of ['%3B', `${'x'.repeat(34)}%F0%9F%98%80`, 'x'.repeat(36), 'de%0d%0a'])
    expect(await locales(`${page.url}?ui_locales=${chosen}`)).toEqual([]);
  expect((await agent.submit(page, { identifier: '' })).body).toContain('lang="de"');
});

test('M13 leaves nothing in the log', () => expectQuietLog(service));
