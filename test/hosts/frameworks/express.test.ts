import { describe, expect, test } from '@jest/globals';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { IdentityProvider } from 'tenant-idp';
import { Agent, basic, postForm } from '../../support/client/agent.js';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { startIdp } from '../../support/service/idp.js';
import { useIdp } from '../../support/service/use-idp.js';

const errors: unknown[] = [];

const hostWith = (prepare: (app: express.Express) => void, at?: string) => (idp: IdentityProvider) => {
  const app = express();
  prepare(app);
  app.use((_req, res, next) => {
    res.cookie('host', 'its own');
    next();
  });
  if (at === undefined) app.use(idp.callback());
  else app.use(at, idp.callback());
  app.get('/boom', () => {
    throw new Error('of the host');
  });
  app.use((_req, res) => void res.status(404).send('host: not found'));
  app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
    errors.push(error);
    res.status(500).send('host error');
  });
  return app;
};

const parsers = (extended: boolean) => (app: express.Express) => void app.use(express.json(), express.urlencoded({ extended }));

describe.each([
  ['plain', '', hostWith(() => {})],
  ['parsers before it', '', hostWith(parsers(true))],
  ['simple parsers before it', '', hostWith(parsers(false))],
  ['only a JSON parser before it', '', hostWith((app) => void app.use(express.json()))],
  ['at a path', '/idp', hostWith(parsers(true), '/idp')],
  ['at a path, used at the root', '/idp', hostWith(() => {})],
  ['under a path of its own in a router', '/login/idp', hostWith(() => {}, '/login')],
])('design §1 hosts: Express, %s', (_, path, host) => {
  const service = useIdp({ seed: journeySeed, path, host });

  test('sign-in to sign-out; the host keeps its cookies, its errors and its own pages', async () => {
    errors.length = 0;
    const agent = new Agent();
    const { origin } = new URL(service.issuer);
    const result = await journey(service.issuer, agent);
    expect(result).toMatchObject(wholeJourney(service.issuer));
    expect(result.setCookies).toContain('host=its%20own; Path=/');
    expect(await agent.get(`${service.issuer}/connect/unknown`)).toMatchObject({ status: 404, body: 'host: not found' });
    expect(errors).toEqual([]);
    expect(await agent.get(`${origin}/boom`)).toMatchObject({ status: 500, body: 'host error' });
    expect(errors).toEqual([expect.objectContaining({ message: 'of the host' })]);
    expect(service.logged).toEqual([]);
  });

  test('errors at the token endpoint stay errors of the protocol', async () => {
    const wrong = await postForm(
      `${service.issuer}/connect/token`,
      { grant_type: 'client_credentials' },
      { authorization: basic('web', 'no') },
    );
    expect(wrong).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    const json = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: basic('service', 'service-secret') },
      body: '{"grant_type":"client_credentials"}',
    });
    expect({ status: json.status, body: await json.json() }).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});

test('design §5: `trustProxy` sees the request as the host made it, whoever read the body', async () => {
  const seen: unknown[] = [];
  const service = await startIdp({
    seed: journeySeed,
    host: hostWith((app) => {
      app.set('trust proxy', true);
      parsers(true)(app);
    }),
    trustProxy: (req) => {
      const { ip } = req as unknown as { ip: string };
      seen.push(ip);
      return ip;
    },
  });
  await journey(service.issuer, new Agent({ 'x-forwarded-for': '203.0.113.7' }));
  // The application calls from this machine.
  expect(new Set(seen)).toEqual(new Set(['203.0.113.7', '127.0.0.1']));
  await service.close();
});
