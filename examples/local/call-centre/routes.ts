/** The call centre: an agent asks a customer to sign in, and the customer approves in another window. The agent never sees the password. */
import { randomInt } from 'node:crypto';
import Router from '@koa/router';
import bodyParser from 'koa-bodyparser';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { connect } from '../connect.js';
import { asProblem } from '../problems.js';
import { acme, callCentreScopes, globex } from '../seed.js';
import { errorPage } from '../views/error.js';
import { followScript } from './follow-script.js';
import type { Phones } from './phones.js';
import { type Call, callPage, callsPage, phonePage } from './views.js';

/** Users whom the agent can ask. A user name is unique within an organisation. */
const callers = [
  { userName: 'alice@acme.test', name: 'Alice', tenant: acme },
  { userName: 'bob@globex.test', name: 'Bob', tenant: globex },
];

/** Returns a number in two groups of three digits, which is easy to read aloud in every language. */
const newNumber = (): string => `${randomInt(100, 1000)} ${randomInt(100, 1000)}`;

export function createCallCentre(issuer: string, phones: Phones): Router {
  const configuration = connect(issuer, 'call-centre', 'call-centre-secret');
  const calls = new LRUCache<string, Call>({ max: 100, ttl: 600_000 });

  /** Polls the token endpoint until there is an answer, as often as allowed. */
  async function follow(call: Call, asked: oidc.BackchannelAuthenticationResponse): Promise<void> {
    try {
      const tokens = await oidc.pollBackchannelAuthenticationGrant(await configuration(), asked);
      Object.assign(call, { state: 'approved', tokens, claims: tokens.claims() });
    } catch (error) {
      const problem = asProblem(error)?.error;
      call.state = problem === 'access_denied' ? 'denied' : 'expired';
    }
  }

  return new Router()
    .get('/call-centre', (ctx) => {
      ctx.body = callsPage(callers);
    })
    .post('/call-centre', bodyParser({ enableTypes: ['form'] }), async (ctx) => {
      const { userName } = ctx.request.body as { readonly userName?: string };
      const caller = callers.find((one) => one.userName === userName);
      if (!caller) return ctx.throw(400);
      const number = newNumber();
      const asked = await oidc.initiateBackchannelAuthentication(await configuration(), {
        scope: callCentreScopes.join(' '),
        login_hint: caller.userName,
        acr_values: `tenant:${caller.tenant.id}`,
        binding_message: number,
      });
      const id = String(randomInt(2 ** 47));
      const call: Call = { id, caller, number, state: 'waiting' };
      calls.set(id, call);
      void follow(call, asked);
      ctx.status = 303;
      ctx.redirect(`/call-centre/${id}`);
    })
    .get('/call-centre/follow.js', (ctx) => {
      ctx.type = 'text/javascript';
      ctx.body = followScript;
    })
    .get('/call-centre/:id', (ctx) => {
      const call = calls.get(String(ctx.params.id));
      ctx.status = call ? 200 : 404;
      ctx.body = call ? callPage(call) : errorPage('There is no such call', 'It was a while ago, or the demo was restarted.');
    })
    .get('/phone', (ctx) => {
      ctx.body = phonePage(callers, phones);
    });
}
