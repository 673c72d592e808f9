import { createServer, type RequestListener, type Server } from 'node:http';
import { expect, test } from '@jest/globals';
import fastify from 'fastify';
import type { IdentityProvider } from 'tenant-idp';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';

/** Mounts the service in Fastify as docs/embed.md says. */
const host = (idp: IdentityProvider): RequestListener => {
  const listener = idp.callback();
  let server: Server | undefined;
  const app = fastify({
    serverFactory: (handler) => {
      server = createServer((req, res) => listener(req, res, () => handler(req, res)));
      return server;
    },
  });
  app.get('/own', () => 'own');
  app.post('/own', ({ body }) => body);
  const ready = app.ready();
  return (req, res) => void ready.then(() => server?.emit('request', req, res));
};
const service = useIdp({ seed: journeySeed, host });

test('design §1 hosts: Fastify, sign-in to sign-out; the host keeps its own pages and bodies', async () => {
  expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
  expect(await (await fetch(`${service.issuer}/own`)).text()).toBe('own');
  const posted = await fetch(`${service.issuer}/own`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"one":1}',
  });
  expect(await posted.json()).toEqual({ one: 1 });
  expect((await fetch(`${service.issuer}/nothing`)).status).toBe(404);
  expect(service.logged).toEqual([]);
});
