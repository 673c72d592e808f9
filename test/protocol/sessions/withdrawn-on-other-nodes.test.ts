/** F5, 2.13: after a withdrawal was answered on one node, the next request on another node is refused, over each store. */
import { expect, test } from '@jest/globals';
import type { Agent } from '../../support/client/agent.js';
import { type CodeInHand, introspect, redeem, refresh, userinfo } from '../../support/client/steps.js';
import { allow, silentError } from '../../support/sign-in/consents.js';
import { type CutSubject, cutSubject } from '../../support/sign-in/cut-offs.js';
import { here, type SharedNodes, there, withSharedNodes } from '../../support/stores/shared-nodes.js';

interface Consented {
  readonly subject: CutSubject;
  readonly agent: Agent;
  readonly client: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** A code that was not redeemed. */
  readonly code: CodeInHand;
}

async function consented(issuer: string, subject: CutSubject, client: string): Promise<Consented> {
  const allowing = {
    client,
    userName: subject.userName,
    password: 'old',
    scope: 'openid offline_access',
    parameters: { acr_values: `tenant:${subject.tenant}` },
  };
  const { agent, code: first } = await allow(issuer, allowing);
  const { json } = await redeem(issuer, first);
  const { code } = await allow(issuer, { ...allowing, agent });
  return { subject, agent, client, code, accessToken: json.access_token, refreshToken: json.refresh_token };
}

type Reader = (issuer: string, consented: Consented) => Promise<unknown>;

/** Requests that need the access, in the order in which they are sent. The uses of a code and of a refresh token come last. */
const readers: Readonly<Record<string, Reader>> = {
  'introspection of an access token': async (issuer, { accessToken, client }) =>
    (await introspect(issuer, accessToken, client)).json.active,
  'introspection of a refresh token': async (issuer, { refreshToken, client }) =>
    (await introspect(issuer, refreshToken, client)).json.active,
  userinfo: async (issuer, { accessToken }) => (await userinfo(issuer, accessToken)).status,
  refresh: async (issuer, { refreshToken, client }) => (await refresh(issuer, refreshToken, client)).json.error,
  'redemption of a code': async (issuer, { code }) => (await redeem(issuer, code)).json.error,
};

const ended = {
  'introspection of an access token': false,
  'introspection of a refresh token': false,
  userinfo: 401,
  refresh: 'invalid_grant',
  'redemption of a code': 'invalid_grant',
};

const asked = async (issuer: string, who: Consented) => {
  const answers: Record<string, unknown> = {};
  for (const [name, ask] of Object.entries(readers)) answers[name] = await ask(issuer, who);
  return answers;
};

function suite({ nodes, other, idpAt }: SharedNodes): void {
  test.each([
    ['a consent', 'third-party', /^(consent|interaction)_required$/],
    ['the access of a client without a consent', 'web', undefined],
  ] as const)('F5: the end of %s holds in the next request on another node', async (_, client, silent) => {
    const subject = await cutSubject(idpAt(here), 'own');
    const who = await nodes().onlyAt(there, () => consented(nodes().issuer, subject, client));
    const beside = await nodes().onlyAt(there, () => allow(nodes().issuer, { agent: who.agent, client: 'jwt', scope: 'openid' }));
    await other().hold();
    const user = { tid: subject.tid, userId: subject.oid };
    expect(await idpAt(here).sessions.endClient(user, client)).toBe(true);
    const answers = await nodes().onlyAt(there, () => asked(nodes().issuer, who));
    expect(answers).toEqual(ended);
    // The session of the browser and the other client continue, on the same node.
    const error = await nodes().onlyAt(there, () => silentError(nodes().issuer, who.agent, client));
    if (silent) expect(error).toMatch(silent);
    else expect(error).toBeUndefined();
    expect((await nodes().onlyAt(there, () => redeem(nodes().issuer, beside.code))).json.access_token).toEqual(expect.any(String));
    other().goOn();
  });
}

withSharedNodes(['REDIS_URL', 'MONGODB_URL', 'POSTGRES_URL'], suite);
