import type { RequestListener } from 'node:http';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { expect, test } from '@jest/globals';
import { Hono } from 'hono';
import type { IdentityProvider } from 'tenant-idp';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';

/** Mounts the service in Hono as docs/embed.md says. */
const host = (idp: IdentityProvider): RequestListener => {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const listener = idp.callback();
  app.use(async ({ env: { incoming, outgoing } }, next) => {
    const isAnswered = await new Promise<boolean>((resolve) => {
      outgoing.once('close', () => resolve(true));
      listener(incoming, outgoing, () => resolve(false));
    });
    return isAnswered ? RESPONSE_ALREADY_SENT : next();
  });
  app.get('/own', (c) => c.text('own'));
  const server = createAdaptorServer({ fetch: app.fetch });
  return (req, res) => void server.emit('request', req, res);
};
const service = useIdp({ seed: journeySeed, host });

test('design §1 hosts: Hono, sign-in to sign-out; the host keeps its own pages', async () => {
  expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
  expect(await (await fetch(`${service.issuer}/own`)).text()).toBe('own');
  expect((await fetch(`${service.issuer}/nothing`)).status).toBe(404);
  expect(service.logged).toEqual([]);
});
