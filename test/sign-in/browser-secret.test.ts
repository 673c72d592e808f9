/** The secret that binds a sign-in to a browser. A sibling subdomain can set every cookie of the browser except this one. */
import { describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, postForm, signIn } from '../support/client/agent.js';
import { authorizationOf, obtainCode, responseOf } from '../support/client/steps.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp(() => {
  const metadata = { redirect_uris: [redirectUri], require_pushed_authorization_requests: true };
  const pushing = { id: 'pushing', name: 'Pushing', secret: 'pushing-secret', metadata, allowedScopes: ['openid'] };
  return { seed: { ...testSeed, clients: [...testSeed.clients, pushing] } };
});

const challenge = () => ({ code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
const url = (parameters: Record<string, string | undefined> = {}) => authorizeUrl(service.issuer, { ...challenge(), ...parameters });
const begin = async (agent: Agent, parameters: Record<string, string> = {}) => agent.follow(await agent.get(url(parameters)));
const beginPushed = async (agent: Agent): Promise<Answer> => {
  const request = { client_id: 'pushing', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', ...challenge() };
  const { json } = await postForm(`${service.issuer}/connect/par`, request, authorizationOf('pushing'));
  return agent.follow(await agent.get(`${service.issuer}/connect/authorize?client_id=pushing&request_uri=${json.request_uri}`));
};
const uidOf = ({ url }: Pick<Answer, 'url'>): string => new URL(url).pathname.split('/')[3] as string;
const resumeOf = (page: Answer): string => `${service.issuer}/connect/authorize/${uidOf(page)}`;
const secretsSetBy = ({ headers }: Answer): string[] => headers.getSetCookie().filter((line) => line.startsWith('idp.browser='));
const cookieOf = (agent: Agent, name: string): string | undefined =>
  [...agent.cookies].find(([key]) => key.startsWith(`${name} `))?.[1].value;
const submitBoth = async (agent: Agent, page: Answer): Promise<Answer> =>
  agent.submit(await agent.submit(page, { identifier: 'alice@acme.test' }), { password: 'alice' });

/** Copies cookies to the victim's browser under the same paths, as a sibling subdomain can. Only `__Host-` protects a cookie. */
function toss(from: Agent, to: Agent): void {
  for (const [key, cookie] of from.cookies) if (!/^idp\.(browser|session|browser-state)[ .]/.test(key)) to.cookies.set(key, cookie);
}

describe('M1: the secret of a browser', () => {
  test('M1: is made by the response that begins an interaction, and then stays as it is', async () => {
    const agent = new Agent();
    const first = await agent.get(url());
    expect(secretsSetBy(first)).toEqual([
      expect.stringMatching(/^idp\.browser=[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/),
    ]);
    const second = await agent.get(url());
    const page = await agent.follow(second);
    const wrong = await agent.submit(page, { identifier: '' });
    const signedIn = await submitBoth(agent, page);
    const answers = [second, page, wrong, signedIn, await agent.get(signedIn.location as string), await begin(agent, { prompt: 'login' })];
    expect(answers.flatMap(secretsSetBy)).toEqual([]);
  });

  test('M1: is made by nothing else', async () => {
    const page = await begin(new Agent());
    const signedIn = new Agent();
    await obtainCode(service.issuer, signedIn);
    for (const key of signedIn.cookies.keys()) if (key.startsWith('idp.browser ')) signedIn.cookies.delete(key);
    const answers = [
      await new Agent().get(url({ prompt: 'none' })),
      await new Agent().get(url({ scope: 'nothing' })),
      await new Agent().get(url({ redirect_uri: 'https://evil.test' })),
      await new Agent().post(`${service.issuer}/connect/authorize`, Object.fromEntries(new URL(url()).searchParams)),
      await new Agent().get(page.url),
      await new Agent().get(`${page.url}/restart`),
      await new Agent().post(`${page.url}/identifier`, { identifier: 'alice@acme.test' }),
      await new Agent().get(resumeOf(page)),
      await new Agent().get(`${service.issuer}/connect/endsession`),
      await signedIn.get(url()),
      await signedIn.get(url({ prompt: 'none' })),
    ];
    expect(responseOf(answers.at(-1) as Answer).get('code')).not.toBeNull();
    expect(answers.flatMap(secretsSetBy)).toEqual([]);
  });

  test.each([
    ['is no secret', 'idp.browser=x'],
    ['is there twice', `idp.browser=${'A'.repeat(43)}; idp.browser=${'A'.repeat(43)}`],
  ])('M1: one that %s counts as none', async (_, cookie) => {
    const answer = await new Agent({ cookie }).get(url());
    expect(secretsSetBy(answer)).toHaveLength(1);
    // The cookie opens no page either.
    const owner = new Agent();
    owner.cookies.set('idp.browser /', { value: 'A'.repeat(43), path: '/' });
    const page = await begin(owner);
    const twice = [...owner.cookies]
      .filter(([, { path }]) => page.url.endsWith(path))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
    const seen = await new Agent({ cookie: [...twice, cookie].join('; ') }).get(page.url);
    expect(seen).toMatchObject({ status: 303, location: expect.stringContaining('/connect/authorize?') });
  });

  test('M1: two first sign-ins at once, of which one secret is left, both come to their end', async () => {
    const agent = new Agent();
    const [one, two] = await Promise.all([agent.get(url()), agent.get(url())]);
    for (const answer of [one, two]) {
      const done = await agent.follow(await submitBoth(agent, await agent.follow(answer)));
      expect(responseOf(done).get('code')).not.toBeNull();
    }
  });

  test('M1: a browser that keeps no cookies is not sent in circles', async () => {
    const agent = new Agent();
    let answer = await agent.get(url());
    let hops = 0;
    for (; answer.location !== undefined && hops < 10; hops += 1) {
      agent.cookies.clear();
      answer = await agent.get(answer.location);
    }
    expect([hops, answer.status]).toEqual([3, 400]);
  });
});

describe('M1: cookies that a sibling subdomain sets', () => {
  test('M1: take over no sign-in: whoever comes with another secret begins the request anew', async () => {
    const attacker = new Agent();
    const attackers = await begin(attacker, { state: 'of the attacker' });
    for (const victim of [new Agent(), await withSecret()]) {
      toss(attacker, victim);
      const page = await victim.follow(await victim.get(attackers.url));
      expect([page.status, uidOf(page) === uidOf(attackers)]).toEqual([200, false]);
      const { location } = await victim.follow(await submitBoth(victim, page));
      expect(Object.fromEntries(responseOf({ location }))).toMatchObject({ code: expect.any(String), state: 'of the attacker' });
    }
    const resumed = await attacker.follow(await attacker.get(resumeOf(attackers)));
    expect([resumed.location, cookieOf(attacker, 'idp.session')]).toEqual([undefined, undefined]);
  });

  test('M1: a form of the attacker’s sign-in that another browser posts is not continued', async () => {
    const attacker = new Agent();
    const password = await attacker.submit(await begin(attacker), { identifier: 'alice@acme.test' });
    for (const victim of [new Agent(), await withSecret()]) {
      toss(attacker, victim);
      const posted = await victim.submit(password, { password: 'alice' });
      expect([posted.status, posted.location]).toEqual([400, undefined]);
      // From there, the browser restarts a sign-in of its own.
      const again = /href="([^"]*\/restart)"/.exec(posted.body)?.[1] as string;
      const page = await victim.follow(await victim.get(again));
      expect(responseOf(await victim.follow(await submitBoth(victim, page))).get('code')).not.toBeNull();
    }
    expect((await attacker.follow(await attacker.get(resumeOf(password)))).location).toBeUndefined();
  });

  test('M1: sign nobody in as the attacker: a resume cookie holds in the browser that began', async () => {
    const attacker = new Agent();
    const signedIn = await submitBoth(attacker, await begin(attacker));
    for (const victim of [new Agent(), await withSecret()]) {
      toss(attacker, victim);
      const resumed = await victim.follow(await victim.get(signedIn.location as string));
      expect(resumed.body).toContain('name="identifier"');
      expect(responseOf(await victim.get(url({ prompt: 'none' }))).get('error')).toBe('login_required');
    }
    // The sign-in still waits for the attacker, unchanged.
    expect(responseOf(await attacker.get(signedIn.location as string)).get('code')).not.toBeNull();
  });

  test('M1: path, cookie and record name the same sign-in, at a page and when it is resumed', async () => {
    const agent = new Agent();
    const [one, two] = [await begin(agent), await begin(agent)];
    const signedIn = await submitBoth(agent, one);
    for (const [key, { path }] of [...agent.cookies])
      for (const name of ['idp.interaction', 'idp.interaction.sig', 'idp.resume', 'idp.resume.sig'])
        if (key.startsWith(`${name} `) && path.endsWith(uidOf(one))) {
          const toTwo = path.replace(uidOf(one), uidOf(two));
          agent.cookies.set(`${name} ${toTwo}`, { value: agent.cookies.get(key)?.value as string, path: toTwo });
        }
    expect(await agent.get(two.url)).toMatchObject({ status: 303, location: expect.stringContaining('/connect/authorize?') });
    expect(await agent.get(resumeOf(two))).toMatchObject({ status: 303, location: two.url });
    expect(responseOf(await agent.get(signedIn.location as string)).get('code')).not.toBeNull();
  });

  test('M1: bring no account of theirs into the chooser', async () => {
    const attacker = new Agent();
    const { location } = await signIn(attacker, url());
    expect(location).toContain('code=');
    expect(cookieOf(attacker, 'idp.accounts')).toBeDefined();
    const victim = await withSecret();
    toss(attacker, victim);
    const chooser = await begin(victim, { prompt: 'select_account' });
    expect(chooser.body).not.toContain('alice@acme.test');
    for (const key of attacker.cookies.keys()) if (/^idp\.session[ .]/.test(key)) attacker.cookies.delete(key);
    expect((await begin(attacker, { prompt: 'select_account' })).body).toContain('value="');
  });

  test('M1: begin no request anew that its client has to push, unless in the browser it sent here', async () => {
    const attacker = new Agent();
    const attackers = await beginPushed(attacker);
    for (const victim of [new Agent(), await withSecret()]) {
      toss(attacker, victim);
      for (const answer of [await victim.get(attackers.url), await victim.get(`${attackers.url}/restart`)]) {
        expect([answer.status, answer.location]).toEqual([400, undefined]);
        expect(answer.body).not.toContain('/restart');
      }
    }
    const own = await attacker.follow(await attacker.get(`${attackers.url}/restart`));
    expect(responseOf(await attacker.follow(await submitBoth(attacker, own))).get('code')).not.toBeNull();
  });

  /** Returns a browser that began a sign-in of its own before. */
  async function withSecret(): Promise<Agent> {
    const agent = new Agent();
    await begin(agent);
    return agent;
  }
});

test('M1: a form says which browser it was shown in', async () => {
  const agent = new Agent();
  const page = await begin(agent);
  const other = new Agent();
  toss(agent, other);
  const foreign = await begin(other);
  const answer = await agent.post(formOf(page).action, { ...formOf(foreign).fields, identifier: 'alice@acme.test' });
  expect([answer.status, answer.location]).toEqual([403, undefined]);
});

test('M1 leaves nothing in the log', () => expectQuietLog(service));
