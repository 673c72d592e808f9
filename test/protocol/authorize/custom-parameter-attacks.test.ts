/** M12: names of custom parameters that some framework reads as names of the response, or of the redirect URI's own query. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, createPkce, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { type Parameters, sendBy, ways } from '../../support/client/ways.js';
import { spellings } from '../../support/requests/hostile-parameters.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const modes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'];
const ownQuery = `${redirectUri}?provider=own&org.id=1&Theme=dark&opts[a]=1`;
let client: SigningClient;
let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  client = await createSigningClient('all', { metadata: { redirect_uris: [redirectUri, ownQuery] } });
  await service.idp.directory.clients.create(client.record);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const protocol = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 's',
  code_challenge: createPkce().challenge,
  code_challenge_method: 'S256',
};
const evil = (names: readonly string[]): Parameters => names.map((name) => [name, 'evil']);
function namesIn(answer: Answer): string[] {
  const members = membersOf(answer);
  expect(Object.values(members)).not.toContain('evil');
  return Object.keys(members.response === undefined ? members : decodeJwt(members.response)).sort();
}

describe.each(ways)('M12: by %s', (way) => {
  test.each(modes)('M12: no spelling of a name of the response comes back, by %s', async (mode) => {
    const all = evil([...spellings, 'code\0x', 'co\0de', 'code\0', '[\0code]', '\0[code]']);
    const ours = ['iss', 'session_state', 'state', ...(mode.endsWith('jwt') ? ['aud', 'exp'] : [])];
    for (const [agent, more, names] of [
      [alice, {}, ['code', 'scope']],
      [new Agent(), { prompt: 'none' }, ['error', 'error_description']],
    ] as const) {
      const parameters = { ...protocol, ...more, response_mode: mode };
      const answer = await agent.follow(await sendBy(way, { issuer: service.issuer, client, agent }, parameters, all));
      expect(namesIn(answer)).toEqual([...ours, ...names].sort());
    }
  });
});

test('M12: in a signed response, no spelling of a claim of JWTs', async () => {
  const all = evil(['AUD', 'Exp', 'iat[]', 'nbf ', 'jti.x', 'ＳＵＢ']);
  for (const mode of ['jwt', 'form_post.jwt']) {
    const answer = await sendBy('GET', { issuer: service.issuer, client, agent: alice }, { ...protocol, response_mode: mode }, all);
    expect(namesIn(answer)).toEqual(['aud', 'code', 'exp', 'iss', 'scope', 'session_state', 'state']);
  }
});

test("M12, R8-OWN: no spelling of a name in the redirect URI's own query, and no other member of it, which stays", async () => {
  const ofOpts = ['opts', 'opts[a]', 'opts[b]', 'opts[]', 'opts.a', '[opts][a]', '.opts[a]', ' opts', 'OPTS[a]'];
  const all = evil(['provider', 'Provider', 'provider[]', ' provider', 'org_id', 'ORG.ID', 'org', 'org[x]', 'theme', ...ofOpts]);
  const parts = ['provider', 'org.id', 'Theme', 'opts[a]'] as const;
  for (const mode of ['query', 'fragment', 'form_post']) {
    const parameters = { ...protocol, redirect_uri: ownQuery, response_mode: mode };
    const answer = await sendBy('GET', { issuer: service.issuer, client, agent: alice }, parameters, all);
    const url = new URL(answer.location ?? /action="([^"]*)"/.exec(answer.body)?.[1]?.replaceAll('&amp;', '&') ?? '');
    expect(parts.map((name) => url.searchParams.getAll(name))).toEqual([['own'], ['1'], ['dark'], ['1']]);
    expect([mode, (answer.location ?? answer.body).match(/evil/g)]).toEqual([mode, null]);
  }
});
