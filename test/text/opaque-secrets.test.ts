/**
 * E-E: passwords and secrets are opaque. Each door that sets a password keeps the whole password. Each door that takes a password or a
 * secret compares all of it.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { acceptIn, captureMail, invite, invitingSeed, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, basic, createPkce, postForm, signIn } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, linkIn, mailTo, pkce } from '../support/sign-in/passwords.js';

const captured = captureMail();
const service = useIdp({
  seed: invitingSeed as never,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000, signInFailures: 100 },
  passwords: { scryptCost: 16 },
});
let acme: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});

const signsIn = async (userName: string, password: string): Promise<boolean> =>
  (await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, password)).location?.includes('code=') ?? false;

const password = 'long enough for anybody';
const endings = ['\0', '\0\0', '\0x', '\n', '\r\n', ' ', '\u200b', '\ufeff', 'x'.repeat(72)];

async function person(userName: string): Promise<string> {
  const user = { userName, status: 'active' as const, emailVerified: true };
  const made = await service.idp.tenant(acme).persons.create({ givenName: 'Fred', email: userName, user });
  return made.user?.id ?? '';
}

/** The doors that set a password of a new user. */
const doors: Readonly<Record<string, (userName: string, chosen: string) => Promise<unknown>>> = {
  'a seed': async (userName, chosen) => service.idp.directory.credentials.seedPassword(await person(userName), chosen),
  'a reset link': async (userName, chosen) => {
    await service.idp.directory.credentials.seedPassword(await person(userName), 'old');
    await forget(service.issuer, userName);
    const agent = new Agent();
    const page = await agent.get(linkIn(await mailTo(captured, userName, 'password-reset')));
    return agent.follow(await agent.submit(page, { password: chosen }));
  },
  'an invitation': async (userName, chosen) => {
    const { url } = await invite(service.idp, {}, { email: userName, user: { userName } });
    return acceptIn(new Agent(), url, { password: chosen });
  },
  'a registration': async (userName, chosen) => {
    const agent = new Agent();
    const request = {
      code_challenge: createPkce().challenge,
      code_challenge_method: 'S256',
      prompt: 'create',
      acr_values: `tenant:${acme}`,
    };
    const form = await agent.follow(await agent.get(authorizeUrl(service.issuer, request)));
    await agent.submit(form, { givenName: 'Nina', familyName: 'New', email: userName, password: chosen });
    const page = await agent.get(linkIn(await mailTo(captured, userName, 'registration')));
    return agent.follow(await agent.submit(page, {}));
  },
};

describe.each(Object.entries(doors))('a password that is set by %s', (door, set) => {
  const named = (part: string) => `${part}-${Object.keys(doors).indexOf(door)}@opaque.test`;

  test('does not sign in with something after it', async () => {
    await set(named('short'), password);
    for (const ending of endings) expect([ending, await signsIn(named('short'), password + ending)]).toEqual([ending, false]);
    expect(await signsIn(named('short'), password)).toBe(true);
  });

  test('is kept whole', async () => {
    for (const [index, ending] of ['\0', 'x'.repeat(72)].entries()) {
      const userName = named(`long-${index}`);
      await set(userName, password + ending);
      expect([ending, await signsIn(userName, password), await signsIn(userName, password + ending)]).toEqual([ending, false, true]);
    }
  });
});

test.each(['/connect/token', '/connect/introspect', '/connect/revocation', '/connect/par'])(
  'a secret with something after it is wrong at %s',
  async (path) => {
    const form = { grant_type: 'client_credentials', token: 'x' };
    const statuses = async (secret: string) => [
      (await postForm(service.issuer + path, form, { authorization: basic('service', encodeURIComponent(secret)) })).status,
      (await postForm(service.issuer + path, { ...form, client_id: 'service', client_secret: secret })).status,
    ];
    expect(await statuses('service-secret')).not.toContain(401);
    // A client has twenty attempts.
    for (const ending of ['\0', '\n']) expect([ending, await statuses(`service-secret${ending}`)]).toEqual([ending, [401, 401]]);
  },
);
