import { beforeAll, expect, test } from '@jest/globals';
import type { Extension } from '../../../lib/contract/extension.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, type Json } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

/** A sign-in method that returns the parameters of the request that it can see. */
const method: Extension = {
  name: 'method',
  routes: (router, { service: { own }, signIn: { interactions } }) => {
    router.get(`${own}/interaction/:uid/method`, async (ctx) => {
      const interaction = await interactions.load(ctx);
      if (interaction) ctx.body = interaction.parameters;
    });
  },
};
let signing: SigningClient;
const service = useIdp({ extensions: [method] });
beforeAll(async () => {
  signing = await createSigningClient('signing');
  await service.idp.directory.clients.create(signing.record);
});

const eid = {
  eid_user_visible_data:
    'Pay 1 000,50 € to +Ærlig & Sønn? 100%25 %zz %E2%82%AC\r\n\tline\u2028two 𝒳 👩‍👩‍👧 "<b>\'\\ a+b c;d=e&f#g\u0001\u00a0 ',
  eid_user_visible_data_format: 'simpleMarkdownV1',
  eid_call_initiator: 'RP',
};
const plain = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' };
const request = { ...plain, code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const eidOf = (parameters: Json) => Object.fromEntries(Object.entries(parameters).filter(([name]) => name.startsWith('eid_')));
const seenByMethod = async (agent: Agent, page: Answer): Promise<Json> => {
  const { action } = formOf(page);
  return JSON.parse((await agent.get(action.replace(/\/[^/]*$/, '/method'))).body);
};

const ways: Record<string, (agent: Agent) => Promise<Answer>> = {
  GET: (agent) => agent.get(authorizeUrl(service.issuer, { ...request, ...eid })),
  'GET, every byte escaped': (agent) => {
    const escaped = Object.entries({ ...request, ...eid }).map(
      ([name, value]) => `${name}=${Buffer.from(value).toString('hex').replace(/../g, '%$&')}`,
    );
    return agent.get(`${service.issuer}/connect/authorize?${escaped.join('&')}`);
  },
  POST: (agent) => agent.post(`${service.issuer}/connect/authorize`, { ...request, ...eid }),
  PAR: async (agent) => {
    const { json } = await endpointsOf(service.issuer).par({ ...request, ...eid });
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: json.request_uri })}`);
  },
  'PAR, the same again': async (agent) => {
    const { par } = endpointsOf(service.issuer);
    await par({ ...request, ...eid });
    const { json } = await par({ ...request, ...eid });
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: json.request_uri })}`);
  },
  'a request object': async (agent) => {
    const signed = await signing.sign(service.issuer, { ...request, client_id: signing.id, ...eid });
    return agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: signing.id, request: signed })}`);
  },
};

test.each(Object.keys(ways))('4.2 eid_*: by %s the sign-in method gets them byte for byte, and the response has none', async (way) => {
  const agent = new Agent();
  const page = await agent.follow((await ways[way]?.(agent)) as Answer);
  expect(eidOf(await seenByMethod(agent, page))).toEqual(eid);
  // The parameters also reach the method after a page.
  const second = await agent.submit(page, { identifier: 'alice@acme.test' });
  expect(eidOf(await seenByMethod(agent, second))).toEqual(eid);
  expect(eidOf(membersOf(await agent.follow(await agent.submit(second, { password: 'alice' }))))).toEqual({});
});

test('4.2 eid_*: an expired sign-in that is begun anew has them still', async () => {
  const agent = new Agent();
  const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...request, ...eid })));
  const { pathname, origin } = new URL(formOf(page).action);
  for (const key of agent.cookies.keys()) if (/^idp\.interaction/.test(key)) agent.cookies.delete(key);
  const restart = `${origin}${pathname.replace(/\/[^/]*$/, '/restart')}`;
  expect(eidOf(await seenByMethod(agent, await agent.follow(await agent.get(restart))))).toEqual(eid);
});
