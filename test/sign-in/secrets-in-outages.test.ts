/**
 * A store that fails while a right secret is checked: the answer is 503 or success. The secret is never called wrong, and the attempt does
 * not count.
 */
import { expect, test } from '@jest/globals';
import { storesThatFailOnce, type Way } from '../admin/retries/stores-that-fail-once.js';
import { Agent, type Answer, authorizeUrl, basic, createPkce, formOf, titleOf } from '../support/client/agent.js';
import { cibaClient } from '../support/client/ciba/call-centre.js';
import { send } from '../support/client/send.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, problemOf } from '../support/sign-in/factors.js';
import { passwordPage } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const { artifacts, directory, plan: planned, host } = storesThatFailOnce();
const service = useIdp({
  artifacts,
  directory,
  host: (idp) => host(idp.callback()),
  seed: { ...testSeed, clients: [...testSeed.clients, cibaClient('desk')] } as never,
});

interface Reply {
  readonly status: number;
  readonly location?: string | undefined;
  readonly text: string;
}
type Ask = (headers: Readonly<Record<string, string>>) => Promise<Reply>;

const { challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const ofPage = ({ status, location, body }: Answer): Reply => ({ status, location, text: body });
const posting = (agent: Agent, page: Answer, typed: Record<string, string>): Ask => {
  const { action, fields } = formOf(page);
  return async (headers) => ofPage(await agent.post(action, { ...fields, ...typed }, headers));
};
let touched = 0;
/** Returns a caller that authenticates with its secret `<id>-secret`. Its record has just been written, so that no cache has it. */
const caller =
  (id: string, path: string, fields: Record<string, string>): (() => Promise<Ask>) =>
  async () => {
    touched += 1;
    const { clients, apiResources } = service.idp.directory;
    await (id === 'orders' ? apiResources : clients).update(id, { name: `Touched ${touched}` });
    const authorization = basic(id, `${id}-secret`);
    return async (headers) =>
      send(service.issuer + path, { method: 'POST', body: new URLSearchParams(fields), headers: { authorization, ...headers } });
  };

let app: { readonly secret: string } | undefined;
let steps = 0;
/** Returns a page that asks for the code of the app, with a code that was not used. */
async function factor(): Promise<Ask> {
  const agent = new Agent();
  const asked = authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' });
  app ??= await enrol(new Agent(), asked, 'carol@acme.test', 'carol');
  const page = await agent.submit(await agent.follow(await agent.get(asked)), { identifier: 'carol@acme.test' });
  const code = await agent.follow(await agent.submit(page, { password: 'carol' }));
  steps += 1;
  passTime(31 * steps);
  return posting(agent, code, { code: codeOf(app.secret) });
}

const clientFields = { client_id: 'web', response_type: 'code', redirect_uri: 'http://127.0.0.1:9/callback', scope: 'openid', ...pkce };
/** Places where a secret is checked, with a request that has the right secret. */
const doors: Readonly<Record<string, () => Promise<Ask>>> = {
  'password of a sign-in': async () => {
    const agent = new Agent();
    return posting(agent, await passwordPage(service.issuer, agent, 'alice@acme.test', pkce), { password: 'alice' });
  },
  'code of an app': factor,
  'client at the token endpoint': caller('service', '/connect/token', { grant_type: 'client_credentials' }),
  'client at introspection': caller('web', '/connect/introspect', { token: 'x' }),
  'API resource at introspection': caller('orders', '/connect/introspect', { token: 'x' }),
  'client at revocation': caller('web', '/connect/revocation', { token: 'x' }),
  'client that pushes a request': caller('web', '/connect/par', clientFields),
  'client that asks by CIBA': caller('desk', '/connect/ciba', { scope: 'openid', login_hint: 'nobody@acme.test' }),
};

/** Returns whether the secret was accepted. Only a client that authenticated gets `unknown_user_id`. */
const isRight = ({ status, location, text }: Reply): boolean =>
  /"unknown_user_id"/.test(text) || status === 200 || status === 201 || (status === 303 && !location?.includes('error='));
const isAway = ({ status, location = '' }: Reply): boolean => status === 503 || location.includes('error=temporarily_unavailable');
const told = ({ status, location, text }: Reply): unknown[] => [
  status,
  location,
  titleOf({ body: text }) || text.slice(0, 200),
  problemOf({ body: text }),
];

const ways: readonly Way[] = ['before', 'after', 'from', 'hangs'];
/**
 * Returns the ways in which a call fails. Few calls hang, because a hang takes a second. About half of the failures last, so that the
 * request cannot give back its attempt.
 */
const waysAt = (index: number): readonly Way[] => {
  if (process.env.PROVE) return ways;
  return [index % 12 === 3 ? 'hangs' : (ways[Math.min(index % 4, 2)] as Way)];
};

test.each(Object.keys(doors))('a store that fails never calls a right secret wrong: %s', async (name) => {
  const door = doors[name] as () => Promise<Ask>;
  const wrong: unknown[] = [];
  const attempt = async (at?: { readonly call: number; readonly way: Way }): Promise<readonly string[]> => {
    const ask = await door();
    const { plan, headers } = planned(at);
    const reply = await ask(headers);
    plan.isOver = true;
    if (!isRight(reply) && (at === undefined || !isAway(reply))) wrong.push([at, plan.calls.at((at?.call ?? 0) - 1), ...told(reply)]);
    return plan.calls;
  };
  try {
    const calls = await attempt();
    expect([name, wrong]).toEqual([name, []]);
    for (const [index] of calls.entries()) for (const way of waysAt(index)) await attempt({ call: index + 1, way });
    // More attempts than the limit fail after they were counted, and none of them counts.
    const counted = calls.indexOf('artifacts.hit');
    const next = calls.findIndex((call, index) => index > counted && call !== 'artifacts.hit');
    if (counted >= 0 && next >= 0) for (let failed = 0; failed < 12; failed += 1) await attempt({ call: next + 1, way: 'from' });
    await attempt();
    expect(wrong).toEqual([]);
  } finally {
    backToPresent();
  }
});
