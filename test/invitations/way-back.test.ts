/** Service specification 4.12, `clientId`: the user returns to the client, even if it has no `postRegistrationUri`. */
import { expect, test } from '@jest/globals';
import { acceptedIn, invite, invitingSeed, postRegistrationUri } from '../support/administration/invitations.js';
import { titleOf } from '../support/client/agent.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const client = (id: string, metadata: object) => ({ id, name: `Of ${id}`, secret: `${id}-secret`, metadata });
const web = ['http://127.0.0.1:9/cb', 'https://app.example.com:8443/deep/cb?a=b', 'https://other.example.com/cb'];
const native = { application_type: 'native', redirect_uris: ['https://app.example.com/cb', 'com.example:/cb'] };
const service = useIdp({
  seed: {
    ...invitingSeed,
    clients: [
      ...invitingSeed.clients,
      client('home', { redirect_uris: web, client_uri: 'https://www.example.com/start' }),
      client('plain', { redirect_uris: web }),
      client('loopback', { redirect_uris: [redirectUri] }),
      client('native', native),
      client('native-home', { ...native, client_uri: 'https://www.example.com/' }),
      client('machine', { grant_types: ['client_credentials'] }),
    ],
  } as never,
});

test.each([
  ['home', 'https://www.example.com/start'],
  ['plain', 'https://app.example.com:8443'],
  ['loopback', undefined],
  ['native', undefined],
  ['native-home', undefined],
  ['machine', undefined],
])('the last page of an invitation with client %s leads to %s', async (clientId, href) => {
  const page = await acceptedIn((await invite(service.idp, { clientId })).url);
  expect(titleOf(page)).toBe('Your account is ready');
  const [, link] = /<a [^>]*href="([^"]*)"[^>]*>Go to/.exec(page.body) ?? [];
  expect(link).toBe(href);
});

test('an invitation without a client has no link; one whose client has a postRegistrationUri leads there', async () => {
  expect((await acceptedIn((await invite(service.idp)).url)).body).not.toContain('Go to');
  expect((await acceptedIn((await invite(service.idp, { clientId: 'portal' })).url)).location).toBe(postRegistrationUri);
});

test('a client that is disabled after the invitation gets no link', async () => {
  const { url } = await invite(service.idp, { clientId: 'plain' });
  await service.idp.directory.clients.update('plain', { status: 'disabled' });
  expect((await acceptedIn(url)).body).not.toContain('Go to');
  await service.idp.directory.clients.update('plain', { status: 'active' });
});
