/** C03b: a connection whose issuer differs from the issuer of its provider. The log names both. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce } from '../../support/client/agent.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

/** Issuers that providers state, by the path of the connection's issuer. */
const spelled: Readonly<Record<string, (issuer: string) => unknown>> = {
  version: (issuer) => `${issuer}/v2.0`,
  case: (issuer) => issuer.toUpperCase(),
  other: () => 'https://login.example.com/\u2028admin signed in',
  none: () => undefined,
};

const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
let origin = '';
const provider = createServer((req, res) => {
  const [, name = ''] = req.url?.split('/') ?? [];
  res.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer: spelled[name]?.(`${origin}/${name}`) }));
});
const service = useIdp(async () => {
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const common = { name: 'Provider', clientId: 'us', clientSecret: 'theirs' };
  const connections = Object.keys(spelled).map((id) => ({ ...common, id, issuer: `${origin}/${id}` }));
  return { seed: { ...testSeed, extensions: { connections } } as never };
});
afterAll(() => {
  provider.close();
});

test.each(Object.keys(spelled))('%s', async (id) => {
  const agent = new Agent();
  await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...pkce, acr_values: `idp:${id}` })));
  const line = service.lines.findLast(({ message }) => message === 'a sign-in by a connection could not begin');
  const found = spelled[id]?.(`${origin}/${id}`);
  const shown = found === undefined ? 'nothing' : JSON.stringify(found).replace('\u2028', '\\u2028');
  if (id === 'none') expect(line?.fields.reason).toContain('discovery document is unusable');
  else expect(line?.fields.reason).toContain(`issuer: expected "${origin}/${id}", got ${shown}`);
  expect(JSON.stringify(line?.fields)).not.toContain('\u2028');
});
