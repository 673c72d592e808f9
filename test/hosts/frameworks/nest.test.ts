import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { IdentityProvider } from 'tenant-idp';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';

@Module({})
class AppModule {}

async function appWith(idp: IdentityProvider): Promise<RequestListener> {
  const app = await NestFactory.create(AppModule, { logger: false });
  app.use(idp.callback());
  const adapter = app.getHttpAdapter();
  adapter.get('/own', (_req: unknown, res: { send(text: string): void }) => res.send('own'));
  await app.init();
  return adapter.getInstance() as RequestListener;
}

/** Mounts the service in NestJS as docs/embed.md says. */
const host = (idp: IdentityProvider): RequestListener => {
  const app = appWith(idp);
  return (req, res) => void app.then((listener) => listener(req, res));
};
const service = useIdp({ seed: journeySeed, host });

test('design §1 hosts: NestJS, sign-in to sign-out; the host keeps its own pages', async () => {
  expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
  expect(await (await fetch(`${service.issuer}/own`)).text()).toBe('own');
  expect((await fetch(`${service.issuer}/nothing`)).status).toBe(404);
  expect(service.logged).toEqual([]);
});
