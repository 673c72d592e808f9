/** Ids that the service hands out: an id gives no access by itself, and the ids of pairwise clients share nothing with other ids. */
import { beforeAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { useIdp } from '../../support/service/use-idp.js';

const agent = new Agent();
const service = useIdp();
beforeAll(async () => {
  await obtainTokens(service.issuer, { agent });
});

const codeFor = async (client: string): Promise<string> => {
  const url = authorizeUrl(service.issuer, { client_id: client, code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
  const { location } = await signIn(agent, url);
  return new URL(location ?? '').searchParams.get('code') ?? '';
};

test('F1: the uid in a session cookie, which names its record, finds no session without the secret beside it', async () => {
  const cookie = agent.cookies.get('idp.session /')?.value ?? '';
  const { Session } = service.idp.provider;
  expect(await Session.find(cookie)).toBeDefined();
  for (const part of [cookie.slice(0, 22), `${cookie.slice(0, 22)}${'A'.repeat(32)}`, `${cookie}A`]) {
    expect(await Session.find(part)).toBeUndefined();
  }
});

test('design §3: what a pairwise client gets in a session shares nothing with what another client gets in it', async () => {
  const [pairwise, web, spa] = await Promise.all(['pairwise', 'web', 'spa'].map(codeFor));
  expect(web?.slice(0, 11)).toBe(spa?.slice(0, 11));
  expect(pairwise?.slice(0, 11)).not.toBe(web?.slice(0, 11));
});
