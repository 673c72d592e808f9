/**
 * T3-DOS-CUTS, T3-DOS-NFKC: input that is too long is refused before it is parsed. The service does not fold the input, and runs no regular
 * expression over it. `work-of-requests.test.ts` measures input within the bounds.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, formOf } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { createSigningClient, type SigningClient } from '../support/client/request-objects.js';
import { send } from '../support/client/send.js';
import { sendBy, ways } from '../support/client/ways.js';
import { fieldNames } from '../support/requests/work/names-read.js';
import { looksAt } from '../support/requests/work/watched-text.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

let client: SigningClient;
const service = useIdp({ mail: { send: async () => {} }, limits: { signInFailures: 100 } });
beforeAll(async () => {
  client = await createSigningClient('all');
  await service.idp.directory.clients.create(client.record);
});

/** Character that NFKC turns into eighteen letters. */
const mark = '\ufdfa';
const protocol = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: createPkce().challenge,
  code_challenge_method: 'S256',
};
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

test('the watch sees what looks at a text', async () => {
  const long = mark.repeat(20);
  const work = async () => [long.normalize('NFKC'), /x/.test(long), long.replace(/x/g, ''), long.split(/x/), long.trim()];
  expect((await looksAt(mark, 19, work)).length).toBeGreaterThanOrEqual(4);
  expect(await looksAt(mark, 20, work)).toEqual([]);
});

describe('custom parameters: 4,096 bytes and a hundred names in all', () => {
  const over = mark.repeat(1400);
  const many = Array.from({ length: 101 }, (_, index) => [`${mark}${'.'.repeat(9)}${index}`, 'v'] as const);
  test.each(ways)('T3-DOS-CUTS T3-DOS-NFKC: more is refused unread, by %s', async (way) => {
    const to = { issuer: service.issuer, client, agent: new Agent() };
    for (const custom of [[[over, '1']], [['a', over]], [[`a${'[. '.repeat(1400)}${mark}`, '1']]] as [string, string][][])
      expect(await looksAt(mark, 1365, () => sendBy(way, to, protocol, custom))).toEqual([]);
    expect(await looksAt(mark, 0, () => sendBy(way, to, protocol, many))).toEqual([]);
  });

  test('T3-DOS-CUTS: a pushed request is refused unread before its client is known', async () => {
    const body = new URLSearchParams({ client_id: 'nobody', ...protocol, [`a${'.'.repeat(50_000)}${mark}`]: '1' });
    expect(await looksAt(mark, 4096, () => send(`${service.issuer}/connect/par`, { method: 'POST', body }))).toEqual([]);
  });

  test('T3-DOS-CUTS: a name within the bounds is folded once, however many cuts it has', async () => {
    const name = `${mark}${'[. '.repeat(1300)}`;
    const to = { issuer: service.issuer, client, agent: new Agent() };
    const looks = await looksAt(mark, name.length - 1, () => sendBy('GET', to, protocol, [[name, '1']]));
    expect(looks.filter((look) => look.startsWith('normalize')).length).toBeLessThanOrEqual(2);
  });
});

describe('parameters of the protocol', () => {
  const bounds = { state: 4096, nonce: 1024, login_hint: 1024, ui_locales: 512, acr_values: 2048 };
  test.each([...Object.entries(bounds), ...['redirect_uri', 'post_logout_redirect_uri', 'resource'].map((name) => [name, 2048] as const)])(
    '%s has at most %i bytes or characters, and more is refused unread',
    async (name, bound) => {
      const agent = new Agent();
      const url = authorizeUrl(service.issuer, { ...protocol, [name]: `https://${mark.repeat(1500)}/` });
      let status = 0;
      // The error page chooses its language by `ui_locales` too.
      const looks = await looksAt(mark, bound, async () => ({ status } = await agent.get(url)));
      expect(looks).toEqual([]);
      expect([303, 400]).toContain(status);
    },
  );
});

test('RFC 9449: a proof longer than 8,192 characters is refused unread', async () => {
  const headers = { ...credentialsOf('web'), ...formType, dpop: `${'a'.repeat(9000)}.a.a` };
  const answer = await send(`${service.issuer}/connect/token`, { method: 'POST', headers, body: 'grant_type=client_credentials' });
  expect([answer.status, JSON.parse(answer.text)]).toEqual([400, expect.objectContaining({ error: 'invalid_dpop_proof' })]);
});

/** Patterns by which a page repeats the text that the user typed. Each pattern reads the page once, because the text is escaped. */
const ofPages = [/[&<>"']/g, /<form\b[^>]*>/, /<textarea\b/, /<input\b[^>]*>/g, /\stype="([^"]*)"/].map(({ source }) => source);
const isOfPage = (look: string): boolean => ofPages.some((source) => look.includes(`/${source}`));

describe('fields of forms: 1,024 characters', () => {
  const paths = ['method', 'account', 'create', 'identifier', 'password', 'organisation', 'consent', 'cancel', 'forgotten', 'factors/code'];
  test.each(paths)('T3-DOS-NFKC: a field of %s that is longer is refused unread', async (path) => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, protocol)));
    const { csrf = '' } = formOf(page).fields;
    const url = `${page.url.split('?')[0]}/${path}`;
    const others = { csrf, step: 'send', identifier: 'alice@acme.test', password: 'alice' };
    const body = (name: string) => new URLSearchParams({ ...others, [name]: mark.repeat(1025) }).toString();
    for (const name of fieldNames.filter((each) => !['csrf', 'response', 'all'].includes(each))) {
      const looks = await looksAt(mark, 1024, () => agent.request(url, { method: 'POST', headers: formType, body: body(name) }));
      expect({ name, looks: looks.filter((look) => !isOfPage(look)) }).toEqual({ name, looks: [] });
    }
  });
});
