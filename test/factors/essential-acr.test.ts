/** an essential `acr` in `claims` is a condition, with `acr_values` and without. OpenID Connect Core §5.5.1.1. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { endpointsOf } from '../support/client/endpoints.js';
import { createSigningClient } from '../support/client/request-objects.js';
import { redeem } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, submit } from '../support/sign-in/factors.js';

const options = { features: { claimsParameter: { enabled: true } } };
const service = useIdp(options as never);
const { challenge, verifier } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const claimsWith = (acr: object) => JSON.stringify({ id_token: { acr } });

type Ask = (agent: Agent, more: Record<string, string>) => Promise<Answer>;
let signing: Awaited<ReturnType<typeof createSigningClient>>;
const ways: Record<string, Ask> = {
  query: (agent, more) => agent.get(authorizeUrl(service.issuer, { ...pkce, ...more })),
  form: (agent, more) =>
    agent.post(`${service.issuer}/connect/authorize`, {
      ...{ client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...pkce },
      ...more,
    }),
  PAR: async (agent, more) => {
    const pushed = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...pkce, ...more };
    const { json } = await endpointsOf(service.issuer).par(pushed);
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: json.request_uri })}`);
  },
  'request object': async (agent, { claims = '{}', ...more }) => {
    const request = await signing.sign(service.issuer, { ...pkce, ...more, claims: JSON.parse(claims) });
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: signing.id, request })}`);
  },
};
const ask = ways.query as Ask;
const silently = async (agent: Agent, more: Record<string, string>, by = ask) =>
  membersOf(await agent.follow(await by(agent, { ...more, prompt: 'none' })));
const acrIn = async (answer: Answer): Promise<unknown> => {
  const { code = '' } = membersOf(answer);
  return decodeJwt((await redeem(service.issuer, { client: 'web', code, verifier })).json.id_token).acr;
};

let acme: string;
let factorTitle: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  signing = await createSigningClient('signing', { metadata: {} });
  await service.idp.directory.clients.create(signing.record as never);
  factorTitle = titleOf((await start(ask, { acr_values: 'mfa' })).page);
});
const start = async (by: Ask, more: Record<string, string>, userName = 'alice@acme.test', password = 'alice') => {
  const agent = new Agent();
  const page = await agent.follow(await by(agent, more));
  const second = await submit(agent, page, { identifier: userName });
  return { agent, page: await submit(agent, second, { password }) };
};

const conditions = [
  { essential: true, value: 'mfa' },
  { essential: true, values: ['mfa'] },
  { essential: true, values: ['gold', 'mfa'] },
];
const besides = () => [undefined, '', 'x', 'pwd', 'pwd mfa', 'mfa pwd', 'mfa', `tenant:${acme}`];

describe.each(Object.keys(ways))('an essential acr that lists mfa alone, by %s', (way) => {
  const by = ways[way] as Ask;

  test('leads every user to a second factor, whatever acr_values say', async () => {
    for (const acrValues of way === 'query' ? besides() : [undefined, 'x', 'mfa pwd'])
      for (const acr of way === 'query' ? conditions : conditions.slice(0, 1)) {
        const more = { claims: claimsWith(acr), ...(acrValues === undefined ? {} : { acr_values: acrValues }) };
        const { agent, page } = await start(by, more);
        expect([acrValues, acr, page.location]).toEqual([acrValues, acr, undefined]);
        expect(titleOf(page)).toBe(factorTitle);
        const same = await silently(agent, { acr_values: 'mfa' });
        expect(same).not.toHaveProperty('code');
        expect(await silently(agent, more, by)).toMatchObject({ error: same.error });
      }
  });
});

test('R-7: a user with an app gets the page of the factor once, and acr is mfa', async () => {
  for (const [userName, password, beside] of [
    ['carol@acme.test', 'carol', {}],
    ['bob@globex.test', 'bob', { acr_values: 'pwd' }],
  ] as const) {
    const { secret } = await enrol(new Agent(), authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' }), userName, password);
    const more = { claims: claimsWith({ essential: true, value: 'mfa' }), ...beside };
    const { agent, page } = await start(ask, more, userName, password);
    const end = await submit(agent, page, { code: codeOf(secret, 1) });
    expect(await acrIn(end)).toBe('mfa');
    expect(await acrIn(await agent.follow(await ask(agent, { ...more, prompt: 'none' })))).toBe('mfa');
    // The sign-in reached both levels. The request names the one that it needs.
    const weaker = await agent.follow(await ask(agent, { claims: claimsWith({ essential: true, value: 'pwd' }), prompt: 'none' }));
    expect(await acrIn(weaker)).toBe('pwd');
  }
});

test.each([{ value: 'pwd' }, { values: ['mfa', 'pwd'] }, { values: ['pwd', 'gold'] }])(
  'a password answers an essential %j',
  async (levels) => {
    const end = await signIn(new Agent(), authorizeUrl(service.issuer, { ...pkce, claims: claimsWith({ essential: true, ...levels }) }));
    expect(await acrIn(end)).toBe('pwd');
  },
);

test('an acr that is not essential is no condition', async () => {
  for (const acr of [{ value: 'mfa' }, { values: ['mfa'] }, { essential: false, value: 'mfa' }, { essential: true }]) {
    const end = await signIn(new Agent(), authorizeUrl(service.issuer, { ...pkce, claims: claimsWith(acr) }));
    expect(membersOf(end)).toHaveProperty('code');
  }
});

test('levels that nobody can reach are refused before the sign-in, with acr_values and without', async () => {
  for (const acrValues of [undefined, 'pwd', 'mfa'])
    for (const acr of [{ value: 'gold' }, { values: ['gold', 'silver'] }, { values: [] }, { values: 'mfa' }, { value: 5 }]) {
      const more = { claims: claimsWith({ essential: true, ...acr }), ...(acrValues === undefined ? {} : { acr_values: acrValues }) };
      expect(membersOf(await ask(new Agent(), more))).toMatchObject({ error: 'unmet_authentication_requirements' });
    }
});

test('a level of the host that the sign-in does not reach is an error after the sign-in, not another sign-in', async () => {
  const other = await startIdp({ configure: (given) => void Object.assign(given.features ?? {}, options.features) });
  try {
    const claims = claimsWith({ essential: true, value: 'gold' });
    const end = await signIn(new Agent(), authorizeUrl(other.issuer, { ...pkce, claims }));
    expect(membersOf(end)).toMatchObject({ error: 'unmet_authentication_requirements' });
  } finally {
    await other.close();
  }
});
