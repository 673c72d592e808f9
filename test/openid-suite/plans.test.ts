/** Checks without the suite that the data of `test/openid-suite` fit this service. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { startIdp } from '../support/service/idp.js';
import { allPlans, configFor, fapiPlans, PEOPLE, seedOf, userNameOf } from './plans.js';

const sides = { issuer: 'https://idp.test', suite: 'https://suite.test' };
const plans = await allPlans(sides);

/** Sorts the words of a response type, because their order means nothing. */
const sorted = (type: string): string => type.split(' ').sort().join(' ');

interface Client {
  readonly client_id: string;
  readonly client_secret?: string;
}

test('each plan has a name of its own, which is its alias', () => {
  expect(new Set(plans.map(({ id }) => id)).size).toBe(plans.length);
  for (const { id, config, planName } of plans) {
    expect([config.alias, planName]).toEqual([id, expect.stringMatching(/^[a-z0-9-]+-test-plan$/)]);
  }
});

test('a plan whose modules ask for people has another person for each module', async () => {
  const ciba = (await fapiPlans(sides)).find(({ id }) => id === 'ciba');
  if (!ciba) throw new Error('there is no such plan');
  const hints = Array.from({ length: PEOPLE - 1 }, (_, index) => (configFor(ciba, index).client as { hint_value: string }).hint_value);
  expect(new Set(hints).size).toBe(PEOPLE - 1);
  expect(hints).not.toContain(userNameOf(0));
});

test('a plan with certificates has one for each client, and the one of its form is the one that is registered', () => {
  const withCertificates = plans.filter(({ variant }) => variant.client_auth_type === 'mtls');
  expect(withCertificates.map(({ id }) => id)).toEqual(['fapi2-mtls', 'ciba-mtls', 'ciba-ping-mtls']);
  for (const { config, clients } of withCertificates)
    for (const [index, name] of ['mtls', 'mtls2'].entries()) {
      const { cert, key } = config[name] as { readonly cert: string; readonly key: string };
      const { keys } = (clients[index]?.metadata.jwks ?? { keys: [] }) as {
        readonly keys: readonly { readonly x5c?: readonly string[] }[];
      };
      const certificate = new X509Certificate(cert);
      expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
      expect(keys.flatMap(({ x5c = [] }) => x5c)).toEqual([certificate.raw.toString('base64')]);
    }
});

test('a plan of CIBA ping registers the address at which the suite waits for notifications', () => {
  const pinged = plans.filter(({ variant }) => variant.ciba_mode === 'ping');
  expect(pinged.map(({ id }) => id)).toEqual(['ciba-ping', 'ciba-ping-mtls']);
  for (const { id, clients } of pinged)
    for (const { metadata } of clients)
      expect(metadata).toMatchObject({
        backchannel_token_delivery_mode: 'ping',
        backchannel_client_notification_endpoint: `${sides.suite}/test/a/${id}/ciba-notification-endpoint`,
      });
});

describe.each(plans.map((plan) => [plan.id, plan] as const))('%s', (id, plan) => {
  test('its clients are accepted, and the service announces what they use', async () => {
    const service = await startIdp({ ...plan.options, seed: seedOf(plan) });
    try {
      const document = (await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()) as Record<string, string[]>;
      const configured = ['client', 'client2', 'client_secret_post'].flatMap((name) => (plan.config[name] as Client | undefined) ?? []);
      expect(configured.map(({ client_id: name }) => name)).toEqual(plan.clients.map((client) => client.id));
      for (const [index, client] of plan.clients.entries()) {
        expect(configured[index]?.client_secret).toBe(client.secret);
        const { metadata } = await service.idp.directory.clients.require(client.id);
        const supported = (document.response_types_supported ?? []).map(sorted);
        for (const type of (metadata.response_types as string[] | undefined) ?? []) expect(supported).toContain(sorted(type));
        for (const type of metadata.grant_types as string[]) expect(document.grant_types_supported).toContain(type);
        const { token_endpoint_auth_method: method = 'client_secret_basic' } = metadata;
        expect(document.token_endpoint_auth_methods_supported).toContain(method);
        if (metadata.redirect_uris) expect(metadata.redirect_uris).toContain(`${sides.suite}/test/a/${id}/callback`);
        expect(await service.idp.directory.accounts.candidates(userNameOf(0))).toHaveLength(1);
      }
    } finally {
      await service.close();
    }
  });
});

test('the pages have the fields that the suite’s browser fills in, at the addresses that it waits for', async () => {
  const basic = plans.find(({ id }) => id === 'basic');
  if (!basic) throw new Error('there is no such plan');
  const service = await startIdp({ ...basic.options, seed: seedOf(basic) });
  try {
    const [client] = basic.clients;
    const redirect_uri = `${sides.suite}/test/a/basic/callback`;
    const agent = new Agent();
    const request = { client_id: client?.id ?? '', redirect_uri, code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
    let page = await agent.follow(await agent.get(authorizeUrl(service.issuer, request)));
    const [{ tasks }] = basic.config.browser as [{ tasks: { match: string; commands: string[][] }[] }];
    for (const { match, commands } of tasks) {
      expect(page.url.replace(service.issuer, sides.issuer).startsWith(match.replace('*', ''))).toBe(true);
      const [[, , field = '', value = ''] = [], [, , button] = []] = commands;
      expect(page.body).toContain(`id="${field}"`);
      expect(page.body).toMatch(new RegExp(`<button class="${button}"`));
      page = await agent.follow(await agent.submit(page, { [field]: value }));
    }
    expect(page.location).toContain(`${redirect_uri}?code=`);
  } finally {
    await service.close();
  }
});
