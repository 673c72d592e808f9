/** Security table M9: guesses of the secrets of clients and API resources are limited, and an attacker locks nobody out. */
import { describe, expect, jest, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { basic, postForm } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { formTypes } from '../../support/requests/both-doors.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const GUESSES = process.env.PROVE === undefined ? 40 : 500;
let asserting: AssertingClient;
let hits = 0;
const idp = useIdp(async () => {
  const artifacts = memoryArtifacts();
  asserting = await createAssertingClient();
  return {
    trustProxy: true,
    seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed] },
    artifacts: {
      ...artifacts,
      hit(...call) {
        hits += 1;
        return artifacts.hit(...call);
      },
    },
  };
});

let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return `198.51.100.${addresses}`;
};

type Headers = Record<string, string>;
/** Requests with credentials, which succeed if the secret is right. */
const endpoints = [
  ['token', 'service', { grant_type: 'client_credentials' }],
  ['introspect', 'orders', { token: 'x' }],
  ['introspect', 'web', { token: 'x' }],
  ['revocation', 'web', { token: 'x' }],
  [
    'par',
    'web',
    {
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1:9/callback',
      scope: 'openid',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    },
  ],
  ['scope/introspect', 'orders', { sub: '00000000-0000-7000-8000-000000000000' }],
] as [string, string, Record<string, string>][];

const mechanisms = {
  'HTTP Basic': (id: string, secret: string) => ({ headers: { authorization: basic(id, secret) } as Headers, fields: {} }),
  'the body': (id: string, secret: string) => ({ headers: {} as Headers, fields: { client_id: id, client_secret: secret } }),
};

const ask = async (path: string, fields: Record<string, string>, headers: Headers) => {
  const { status, headers: answered, json } = await postForm(`${idp.issuer}/connect/${path}`, fields, headers);
  return {
    status,
    error: json?.error as string | undefined,
    retryAfter: answered.get('retry-after'),
    challenge: answered.get('www-authenticate'),
  };
};

describe.each(Object.entries(mechanisms))('M9: by %s', (_, credentials) => {
  describe.each(endpoints)('at connect/%s, %s', (path, id, fields) => {
    test.each(formTypes)('wrong secrets run into their limit, and a right one always passes (%s)', async (type) => {
      const address = newAddress();
      const send = (secret: string, from = address, who = id) => {
        const { headers, fields: more } = credentials(who, secret);
        return ask(path, { ...fields, ...more }, { 'content-type': type, 'x-forwarded-for': from, ...headers });
      };
      const right = await send(`${id}-secret`);
      const wrong = await Promise.all(Array.from({ length: GUESSES }, (_, index) => send(`wrong-${index}`)));
      expect(wrong.filter(({ status }) => status === 401)).toHaveLength(20);
      const refused = wrong.filter(({ status }) => status !== 401);
      for (const answer of refused)
        expect(answer).toEqual({
          status: 429,
          error: 'too_many_requests',
          retryAfter: expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
          challenge: null,
        });
      const before = hits;
      expect(await send(`${id}-secret`)).toEqual(right);
      expect(right.status).not.toBe(401);
      // A right secret is not counted, so it costs no call to the store.
      expect(hits).toBe(before);
      expect((await send('wrong', newAddress())).status).toBe(401);
      expect((await send('wrong', address, id === 'web' ? 'service' : 'web')).status).toBe(401);
    });
  });
});

test('M9: one count for all endpoints and mechanisms', async () => {
  const from = { 'x-forwarded-for': newAddress() };
  for (let round = 0; round < 10; round += 1) {
    expect((await ask('token', {}, { ...from, authorization: basic('web', 'wrong') })).status).toBe(401);
    expect((await ask('scope/introspect', { client_id: 'web', client_secret: 'wrong' }, from)).status).toBe(401);
  }
  expect((await ask('introspect', { token: 'x' }, { ...from, authorization: basic('web', 'wrong') })).status).toBe(429);
});

test('M9: an id that is spelled otherwise is the same', async () => {
  const from = { 'x-forwarded-for': newAddress() };
  const spelled = (id: string) => ({ ...from, authorization: `Basic ${Buffer.from(`${id}:wrong`).toString('base64')}` });
  const spellings = ['web', '%77eb', 'w%65b', '%77%65%62', 'we%62'];
  for (const path of ['token', 'scope/introspect']) {
    const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => ask(path, {}, spelled(spellings[index % 5] as string))));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(path === 'token' ? 20 : 0);
  }
});

test('M9: an id that does not exist, or has no secret, is refused alike', async () => {
  for (const id of ['nobody', 'spa', 'asserting', '__proto__']) {
    const headers = { 'x-forwarded-for': newAddress(), authorization: basic(id, 'wrong') };
    for (const path of ['token', 'scope/introspect']) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => ask(path, { token: 'x', grant_type: 'client_credentials' }, headers)),
      );
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(path === 'token' ? 10 : 30);
    }
  }
});

test('M9: assertions that do not verify are counted, and a right one passes', async () => {
  const headers = { 'x-forwarded-for': newAddress() };
  const assertion = await asserting.sign(idp.issuer);
  const forged = { ...assertion, client_assertion: `${assertion.client_assertion?.slice(0, -6)}AAAAAA` };
  const guess = () => ask('token', { grant_type: 'client_credentials', ...forged }, headers);
  const answers = await Promise.all(Array.from({ length: 30 }, guess));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(20);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
  expect(await ask('token', { grant_type: 'client_credentials', ...assertion }, headers)).toMatchObject({ status: 200 });
});

test('M9: assertions that do not verify cost one verification, whichever door answers', async () => {
  const stranger = await createAssertingClient();
  const used = await asserting.sign(idp.issuer);
  const refused = [used, await stranger.sign(idp.issuer), await asserting.sign(idp.issuer, { nbf: epochSeconds() + 120 })];
  expect(await ask('token', { grant_type: 'client_credentials', ...used }, {})).toMatchObject({ status: 200 });
  const verify = jest.spyOn(globalThis.crypto.subtle, 'verify');
  try {
    for (const path of ['token', 'introspect', 'revocation', 'par'])
      for (const type of formTypes)
        for (const assertion of refused) {
          verify.mockClear();
          const headers = { 'content-type': type, 'x-forwarded-for': newAddress() };
          expect(
            await ask(path, { grant_type: 'client_credentials', token: 'x', client_id: 'asserting', ...assertion }, headers),
          ).toMatchObject({
            status: 401,
            error: 'invalid_client',
          });
          expect(verify).toHaveBeenCalledTimes(1);
        }
  } finally {
    verify.mockRestore();
  }
});

test('M9: a request that names a client and proves nothing is not counted', async () => {
  const headers = { 'x-forwarded-for': newAddress() };
  for (let round = 0; round < 25; round += 1) expect((await ask('token', { client_id: 'web' }, headers)).status).toBe(401);
});

test('M9: addresses of one /64 count as one', async () => {
  const guess = (index: number) =>
    ask('token', {}, { 'x-forwarded-for': `2001:db8:9:9::${index.toString(16)}`, authorization: basic('web', 'wrong') });
  const answers = await Promise.all(Array.from({ length: GUESSES }, (_, index) => guess(index)));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(20);
});

describe('Basic credentials whose base64 is wrong', () => {
  const padded = Buffer.from('service:service-secret!').toString('base64');
  const whole = Buffer.from('service:service-secret').toString('base64');

  test.each(['token', 'introspect', 'revocation', 'par', 'scope/introspect'])(
    'RFC 4648 §4: at connect/%s they are a malformed request',
    async (path) => {
      expect([padded, whole].map((text) => text.replace(/[^=]/g, ''))).toEqual(['=', '==']);
      const bad = [
        `${whole}=`,
        whole.slice(0, -1),
        `${padded}=`,
        `=${padded}`,
        `${padded.slice(0, 4)}=${padded.slice(4)}`,
        'A',
        '',
        '====',
        '%',
      ];
      for (const type of formTypes)
        for (const text of bad) {
          const headers = { 'content-type': type, authorization: `Basic ${text}`, 'x-forwarded-for': newAddress() };
          expect({ text, ...(await ask(path, { grant_type: 'client_credentials', token: 'x', sub: 'x' }, headers)) }).toMatchObject({
            text,
            status: 400,
            error: 'invalid_request',
          });
        }
    },
  );

  test.each(formTypes)('without padding they are as good as with it (%s)', async (type) => {
    for (const text of [whole, whole.replaceAll('=', '')])
      expect(
        await ask('token', { grant_type: 'client_credentials' }, { 'content-type': type, authorization: `Basic ${text}` }),
      ).toMatchObject({
        status: 200,
      });
  });
});
