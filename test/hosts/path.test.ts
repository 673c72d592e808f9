import { beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, formOf, type Json } from '../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../support/client/journey.js';
import { useIdp } from '../support/service/use-idp.js';

let origin: string;
const service = useIdp({ seed: journeySeed, path: '/login/eu' });
beforeAll(() => {
  origin = new URL(service.issuer).origin;
});

test('design §1: an issuer with a path, sign-in to sign-out; cookies stay within it or bear its name', async () => {
  const result = await journey(service.issuer);
  expect(result).toMatchObject(wholeJourney(service.issuer));
  expect(result.setCookies.length).toBeGreaterThan(0);
  for (const line of result.setCookies) {
    const path = /; path=([^;]*)/i.exec(line)?.[1] ?? '';
    expect(path.startsWith('/login/eu/') || /^idp\.(session|browser|browser-state|signed-out)\.[\w-]+(\.sig)?=/.test(line)).toBe(true);
  }
  for (const url of Object.values(result.discovery as Record<string, unknown>).filter((value) => /^http/.test(String(value))))
    expect(String(url).startsWith(service.issuer)).toBe(true);
});

test('RFC 8414 §3.1: metadata before the path and after it', async () => {
  const [openid, oauth, inserted] = await Promise.all(
    [
      `${service.issuer}/.well-known/openid-configuration`,
      `${service.issuer}/.well-known/oauth-authorization-server`,
      `${origin}/.well-known/oauth-authorization-server/login/eu`,
    ].map(async (url) => (await fetch(url)).json() as Promise<Json>),
  );
  expect(openid).toMatchObject({ issuer: service.issuer });
  expect(oauth).toEqual(openid);
  expect(inserted).toEqual(openid);
});

test.each([
  '/login/eu',
  '/login/eu/',
  '/login/EU/.well-known/openid-configuration',
  '/connect/token',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/login',
  '/login/europe/connect/token',
])('design §1: %s is not ours', async (path) => {
  expect((await fetch(origin + path)).status).toBe(404);
});

test('errors and expired sign-ins link below the path', async () => {
  const agent = new Agent();
  const page = await agent.follow(
    await agent.get(authorizeUrl(service.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' })),
  );
  for (const [key] of agent.cookies) if (key.startsWith('idp.interaction')) agent.cookies.delete(key);
  const expired = await agent.post(`${page.url}/identifier`, formOf(page).fields);
  expect(expired.status).toBe(400);
  expect(expired.body).toContain(`${service.issuer}/idp/interaction/`);
});
