/** Load of users and clients that use the service all the time, and record the answers. */
import { Agent, type Answer, authorizeUrl, createPkce, type Json, postForm } from '../client/agent.js';
import { authorizationOf, introspect, obtainCode, redeem, refresh, responseOf, userinfo } from '../client/steps.js';
import { redirectUri } from '../service/seed.js';

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly location: string | undefined;
}

export interface Noted {
  readonly what: string;
  /** `away`: the service answered, as it should, that a store is unavailable. */
  readonly said: 'right' | 'away' | 'wrong';
  readonly began: number;
  readonly ended: number;
  /** Text of a wrong answer. */
  readonly reply?: string;
}

export interface Load {
  readonly noted: Noted[];
  /** Access tokens of received answers. */
  readonly ledger: string[];
  /** The newest refresh token of each family that the client knows. */
  readonly families: ReadonlyMap<string, string>;
  /** Browsers of signed-in users. */
  readonly agents: readonly Agent[];
  /** Stops the load, and waits until all users and clients have finished their current steps. */
  stop(): Promise<void>;
}

const offline = { scope: 'openid offline_access' };

/** Returns whether the answer is a 503 in the caller's format, or a redirect with `temporarily_unavailable`. @see RFC 6749 §4.1.2.1 */
function saysAway({ status, headers, text, location }: Reply): boolean {
  if (status === 303) return location !== undefined && new URL(location).searchParams.get('error') === 'temporarily_unavailable';
  return status === 503 && /^\d+$/.test(headers.get('retry-after') ?? '') && /"temporarily_unavailable"|^<!doctype html>/.test(text);
}

const ofPage = ({ status, headers, body, location }: Answer): Reply => ({ status, headers, text: body, location });

/** Starts the load. @param busy number of users who are signed in */
export async function startLoad(issuer: string, busy = 2): Promise<Load> {
  const noted: Noted[] = [];
  const ledger: string[] = [];
  const families = new Map<string, string>();
  let isOver = false;

  /** Records the answer. Returns undefined if the store is unavailable, or the answer is wrong. */
  async function note<R extends Reply>(what: string, ask: () => Promise<R>, isRight: (reply: R) => boolean): Promise<R | undefined> {
    const began = performance.now();
    const reply = await ask().catch(
      (error: unknown) => ({ status: 0, headers: new Headers(), text: String(error), location: undefined }) as R,
    );
    const said = isRight(reply) ? 'right' : saysAway(reply) ? 'away' : 'wrong';
    const { status, text, location } = reply;
    noted.push({
      what,
      said,
      began,
      ended: performance.now(),
      ...(said === 'wrong' ? { reply: `${status} ${location ?? ''} ${text.replace(/<style[\s\S]*?<\/style>/g, '').slice(0, 200)}` } : {}),
    });
    if (said === 'right') return reply;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return undefined;
  }
  const form = async (answering: ReturnType<typeof postForm>): Promise<Reply & { json: Json }> => ({
    ...(await answering),
    location: undefined,
  });
  const is200 = ({ status }: Reply) => status === 200;
  const some = () => ledger[Math.floor(Math.random() * ledger.length)] as string;
  const page = (agent: Agent, url: string) => async () => ofPage(await agent.get(url));
  const hasCode = ({ location }: Reply) => location !== undefined && new URL(location).searchParams.has('code');

  async function refreshing(name: string, first: string): Promise<void> {
    families.set(name, first);
    while (!isOver) {
      // A client that got no token retries with the client's current token.
      const answer = await note('refresh', () => form(refresh(issuer, families.get(name) as string)), is200);
      if (!answer) continue;
      families.set(name, answer.json.refresh_token);
      ledger.push(answer.json.access_token);
    }
  }
  async function authorizing(agent: Agent): Promise<void> {
    while (!isOver) {
      const { verifier, challenge } = createPkce();
      const parameters = { code_challenge: challenge, code_challenge_method: 'S256', redirect_uri: redirectUri, response_type: 'code' };
      const isPushed = Math.random() < 0.5;
      const pushed = isPushed
        ? await note(
            'PAR',
            () => form(postForm(`${issuer}/connect/par`, { ...parameters, client_id: 'web', scope: 'openid' }, authorizationOf('web'))),
            ({ status }) => status === 201,
          )
        : undefined;
      if (isPushed && !pushed) continue;
      const url = pushed
        ? `${issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`
        : authorizeUrl(issuer, parameters);
      const redirected = await note('authorize', page(agent, url), hasCode);
      if (!redirected) continue;
      const code = responseOf(redirected).get('code') as string;
      // The client does not retry, because a missing answer does not say whether the code was spent.
      const bought = await note('code', () => form(redeem(issuer, { client: 'web', code, verifier })), is200);
      if (bought) ledger.push(bought.json.access_token);
    }
  }
  async function asking(): Promise<void> {
    while (!isOver) {
      const { access_token: token } =
        (
          await note(
            'client credentials',
            () => form(postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'))),
            is200,
          )
        )?.json ?? {};
      if (token)
        await note(
          'introspection of one’s own',
          () => form(introspect(issuer, token, 'service')),
          ({ json }) => json?.active === true,
        );
      await note(
        'introspection',
        () => form(introspect(issuer, some())),
        ({ json }) => json?.active === true,
      );
      await note('userinfo', () => told(some()), is200);
    }
  }
  const told = async (token: string) => {
    const { status, headers, json } = await userinfo(issuer, token);
    return { status, headers, text: JSON.stringify(json), location: undefined };
  };
  async function signingIn(): Promise<void> {
    while (!isOver) {
      const agent = new Agent();
      const step = async (ask: () => Promise<Answer>, isRight: (reply: Reply) => boolean): Promise<Answer> => {
        for (;;) {
          let answer: Answer | undefined;
          const reply = await note(
            'sign-in',
            async () => {
              answer = await ask();
              return ofPage(answer);
            },
            isRight,
          );
          if (reply && answer) return answer;
        }
      };
      const begun = await step(
        () => agent.get(authorizeUrl(issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' })),
        ({ location }) => location?.includes('/interaction/') === true,
      );
      const identifier = await step(() => agent.get(begun.location as string), is200);
      const password = await step(() => agent.submit(identifier, { identifier: 'carol@acme.test' }), is200);
      const proven = await step(
        () => agent.submit(password, { password: 'carol' }),
        ({ location }) => location !== undefined,
      );
      await note('resume', page(agent, proven.location as string), hasCode);
    }
  }

  const agents = Array.from({ length: busy }, () => new Agent());
  for (const agent of agents) {
    const { json } = await redeem(issuer, await obtainCode(issuer, agent, 'web', offline));
    ledger.push(json.access_token);
  }
  const firsts = await Promise.all(
    agents.flatMap((agent) => [0, 1].map(async () => (await redeem(issuer, await obtainCode(issuer, agent, 'web', offline))).json)),
  );
  const everybody = [
    ...firsts.map(({ refresh_token: first }, index) => refreshing(`family ${index}`, first)),
    ...agents.map(authorizing),
    ...agents.map(asking),
    signingIn(),
  ];
  return {
    noted,
    ledger,
    families,
    agents,
    async stop() {
      isOver = true;
      await Promise.all(everybody);
    },
  };
}
