/** Service specification 4.2, mfa and idp; threats G4, G5, J1: passkeys in Chromium, by its virtual authenticator. axe checks each page. */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import type { IdpEvent } from 'tenant-idp';
import { loadAxe, violationsOn } from '../support/browser/axe.js';
import { describeInBrowser, isExpectedInConsole, launch } from '../support/browser/chromium.js';
import { authorizeUrl, createPkce, postForm } from '../support/client/agent.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { startIdp } from '../support/service/idp.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf } from '../support/sign-in/factors.js';
import { until } from '../support/time/until.js';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const screenshots = process.env.SCREENSHOTS;
const pkce = createPkce();
const application = createServer((_, res) => res.end('done'));
let redirectUri: string;

const [acme, globex] = testSeed.tenants;
const user = (name: string, tenant: string, more: object = { devPassword: name }) => ({
  givenName: name,
  familyName: 'P',
  email: `${name}@${tenant}.test`,
  user: { userName: `${name}@${tenant}.test`, ...more },
});
const linkedTo = { linkedTo: { userName: 'ada@acme.test', tenant: 'Acme' } };
const seed = {
  ...testSeed,
  tenants: [
    { ...acme, persons: [...(acme?.persons ?? []), user('zoe', 'acme'), user('tess', 'acme'), user('ada', 'acme')] },
    { ...globex, persons: [...(globex?.persons ?? []), user('dora', 'globex'), user('ada', 'globex', linkedTo)] },
  ],
};

/** Browser with an authenticator. */
interface Device {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly cdp: CDPSession;
  readonly authenticator: string;
  look(name: string): Promise<void>;
}

describeInBrowser('passkeys in Chromium', () => {
  const service = useIdp(async () => {
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
    redirectUri = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`;
    const metadata = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] };
    const client = { id: 'app', name: 'App', secret: 'app-secret', metadata, allowedScopes: ['openid'] };
    return {
      hostname: 'localhost',
      seed: { ...seed, clients: [...testSeed.clients, client] } as never,
      limits: { signInFailuresPerAddress: 100_000 },
    };
  });
  const heard: IdpEvent[] = [];
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
    service.idp.directory.events.on('FactorAdded', async (event) => void heard.push(event));
    service.idp.directory.events.on('PasskeyCounterWentBack', async (event) => void heard.push(event));
  });
  afterAll(async () => {
    await browser?.close();
    application.closeAllConnections();
    application.close();
  });

  async function onDevice(
    use: (device: Device) => Promise<void>,
    { isUserVerified = true, isDark = false, javaScriptEnabled = true } = {},
  ): Promise<void> {
    const context = await browser.newContext({
      viewport: { width: 360, height: 740 },
      locale: 'en',
      colorScheme: isDark ? 'dark' : 'light',
      javaScriptEnabled,
    });
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const { authenticatorId: authenticator } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified,
        automaticPresenceSimulation: true,
      },
    });
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(message.text())).on('pageerror', (error) => void complaints.push(error.message));
    const look = async (name: string) => {
      await loadAxe(page);
      expect([name, await violationsOn(page, tags)]).toEqual([name, []]);
      expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true]);
      if (!screenshots) return;
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `factors-${name}${isDark ? '-dark' : ''}.png`), fullPage: true });
    };
    try {
      await use({ page, context, cdp, authenticator, look });
      expect(complaints.filter((line) => !isExpectedInConsole(line))).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const url = (parameters: Record<string, string> = {}) =>
    authorizeUrl(service.issuer, {
      client_id: 'app',
      redirect_uri: redirectUri,
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
      ...parameters,
    });
  const withPassword = async (page: Page, userName: string, password: string, at: string) => {
    await page.goto(at);
    await page.getByLabel('E-mail or user name').fill(userName);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  };
  const tokensIn = async (page: Page) => {
    await page.waitForURL(/callback/);
    const fields = {
      grant_type: 'authorization_code',
      code: new URL(page.url()).searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
    };
    const { json } = await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf('app'));
    return decodeJwt(json.id_token);
  };
  /** Sets up a passkey at a sign-in. */
  const enrolPasskey = async ({ page }: Device, userName: string, password: string) => {
    await withPassword(page, userName, password, url({ acr_values: 'mfa' }));
    await page.getByRole('button', { name: /^Passkey/ }).click();
    await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
  };
  const forget = async ({ context }: Device) => context.clearCookies();

  test('`mfa` requires multi-factor: a passkey is set up after the password, stands for `mfa`, and then signs in by itself', async () => {
    await onDevice(async (device) => {
      const { page, look } = device;
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
      await withPassword(page, 'carol@acme.test', 'carol', url({ acr_values: 'mfa' }));
      await page.getByRole('button', { name: /^Passkey/ }).waitFor();
      await look('enrol');
      await page.locator('details.choice > summary').click();
      await page.getByLabel('6-digit code').fill('000000');
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.waitForSelector('[aria-invalid]');
      await look('enrol-wrong');
      await page.getByRole('button', { name: /^Passkey/ }).click();
      await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
      await look('codes');
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
      expect(download.suggestedFilename()).toBe('recovery-codes.txt');
      await page.getByRole('button', { name: 'I saved them' }).click();
      expect(await tokensIn(page)).toMatchObject({ amr: ['pwd', 'mfa'], idp: 'local' });

      await forget(device);
      await withPassword(page, 'carol@acme.test', 'carol', url({ acr_values: 'mfa' }));
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
      await look('challenge-passkey');
      await page.getByRole('link', { name: 'Use a recovery code' }).click();
      await page.getByLabel('Recovery code').waitFor();
      await look('challenge-recovery');
      await page.getByRole('link', { name: 'Use another way' }).click();
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      expect(await tokensIn(page)).toMatchObject({ amr: ['pwd', 'mfa'], idp: 'local' });

      await forget(device);
      await page.goto(url({ acr_values: 'idp:passkey' }));
      await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
      await look('sign-in-passkey');
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      expect(await tokensIn(page)).toMatchObject({ amr: ['pop', 'mfa'], idp: 'local' });
    });
  });

  test('4.2 idp: the first page offers passkeys in the autofill of the name, and by a button; a session by one is the method `passkey`', async () => {
    await onDevice(async (device) => {
      const { page, look } = device;
      await enrolPasskey(device, 'bob@globex.test', 'bob');
      await page.getByRole('button', { name: 'I saved them' }).click();
      await tokensIn(page);
      await forget(device);
      await page.goto(url());
      // The virtual authenticator answers the autofill without a click.
      expect(await tokensIn(page)).toMatchObject({ amr: ['pop', 'mfa'], idp: 'local' });
      await page.goto(url({ acr_values: 'idp:passkey', prompt: 'none' }));
      expect(await tokensIn(page)).toMatchObject({ amr: ['pop', 'mfa'] });

      await forget(device);
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
      await page.goto(url());
      await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
      await look('identifier');
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      expect(await tokensIn(page)).toMatchObject({ amr: ['pop', 'mfa'], idp: 'local' });
    });
  });

  test('G5: alone, a passkey that verifies nobody is refused; so is one of somebody who is disabled, in the same words', async () => {
    const [account] = await service.idp.directory.accounts.candidates('dora@globex.test');
    const [tid, dora] = [account?.tenant.id ?? '', account?.person.user.id ?? ''];
    await onDevice(async (device) => {
      const { page, cdp, authenticator, look } = device;
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
      await enrolPasskey(device, 'dora@globex.test', 'dora');
      await page.getByRole('button', { name: 'I saved them' }).click();
      await tokensIn(page);
      await forget(device);
      const attempt = async (): Promise<string> => {
        await page.goto(url({ acr_values: 'idp:passkey' }));
        await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
        await page.getByRole('heading', { name: 'That did not work' }).waitFor();
        return (await page.locator('main').innerHTML()).replace(/interaction\/[\w-]+/g, '');
      };
      const { users } = service.idp.tenant(tid);
      await users.disable(dora);
      const disabled = await attempt();
      await look('refused');
      await users.enable(dora);
      // A passkey that the service never saw: the same authenticator, another credential.
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId: authenticator });
      const [known] = credentials;
      if (!known) throw new Error('no credential');
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId: authenticator });
      const unknown = { ...known, credentialId: Buffer.from('never seen before').toString('base64') };
      await cdp.send('WebAuthn.addCredential', { authenticatorId: authenticator, credential: unknown });
      expect(await attempt()).toBe(disabled);
      // The counter decreases, so there may be a copy of the passkey.
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId: authenticator });
      await cdp.send('WebAuthn.addCredential', { authenticatorId: authenticator, credential: { ...known, signCount: 0 } });
      expect(await attempt()).toBe(disabled);
      const wentBack = await until(() => heard.find(({ type }) => type === 'PasskeyCounterWentBack'));
      expect(wentBack?.data).toMatchObject({ AggregateId: dora });
      // A page that requires no verification gets a signature of an unverified user. A signature of a verified user signs in.
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId: authenticator });
      await cdp.send('WebAuthn.addCredential', { authenticatorId: authenticator, credential: { ...known, signCount: 1_000 } });
      await page.addInitScript(`
        const get = navigator.credentials.get.bind(navigator.credentials);
        navigator.credentials.get = ({ publicKey, ...more }) => get({ ...more, publicKey: { ...publicKey, userVerification: 'discouraged' } });
      `);
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId: authenticator, isUserVerified: false });
      expect(await attempt()).toBe(disabled);
      const reasons = service.lines.map(({ fields }) => (fields as { readonly err?: Error }).err?.message ?? '');
      expect(reasons).toContainEqual(expect.stringMatching(/user.*verif/i));
    });
  });

  test('G4: an answer is good once, in its own sign-in and browser', async () => {
    await onDevice(async (device) => {
      const { page, context } = device;
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
      await enrolPasskey(device, 'alice@acme.test', 'alice');
      await page.getByRole('button', { name: 'I saved them' }).click();
      await tokensIn(page);
      await forget(device);
      let answer: string | undefined;
      await context.route('**/passkey', async (route) => {
        answer = route.request().postData() ?? undefined;
        await route.fulfill({ body: 'kept' });
      });
      await page.goto(url({ acr_values: `idp:passkey` }));
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.waitForURL(/\/passkey$/);
      await context.unroute('**/passkey');
      const action = page.url();
      const post = async (at: string, form = answer ?? '') => {
        const response = await context.request.post(at, {
          data: form,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          maxRedirects: 0,
        });
        return { status: response.status(), text: await response.text() };
      };
      // Another sign-in in the same browser.
      const other = await context.newPage();
      await other.goto(url({ acr_values: 'idp:passkey' }));
      const token = await other.locator('input[name=csrf]').inputValue();
      const otherForm = new URLSearchParams(answer);
      otherForm.set('csrf', token);
      expect(await post(`${other.url()}/passkey`, String(otherForm))).toMatchObject({ status: 400 });
      // Each form differs from the others, because a form that is sent twice is evaluated once.
      const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => post(action, `${answer}&more=${index}`)));
      // Alice has two organisations, so the browser that proved the passkey gets the choice.
      expect(answers.filter(({ text }) => text.includes('Choose an organisation'))).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(9);
    });
  });

  test('a second factor that is sent twice is answered like the first', async () => {
    await onDevice(async (device) => {
      const { page, context } = device;
      await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
      await enrolPasskey(device, 'tess@acme.test', 'tess');
      await page.getByRole('button', { name: 'I saved them' }).click();
      await tokensIn(page);
      await forget(device);
      const statuses: number[] = [];
      await context.route('**/factors/passkey', async (route) => {
        for (let times = 0; times < 2; times += 1) {
          const response = await route.fetch({ maxRedirects: 0 });
          statuses.push(response.status());
          if (times === 1) await route.fulfill({ response });
        }
      });
      await withPassword(page, 'tess@acme.test', 'tess', url({ acr_values: 'mfa' }));
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      expect(await tokensIn(page)).toMatchObject({ amr: ['pwd', 'mfa'] });
      expect(statuses).toEqual([303, 303]);
    });
  });

  test('who has several organisations by one passkey chooses one; a tenant of the request leaves nothing to choose', async () => {
    await onDevice(
      async (device) => {
        const { page, look } = device;
        await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
        await enrolPasskey(device, 'ada@acme.test', 'ada');
        await page.getByRole('button', { name: 'I saved them' }).click();
        await tokensIn(page);
        const [globex] = (await service.idp.directory.tenants.find()).filter(({ name }) => name === 'Globex');
        for (const acr of ['idp:passkey', `idp:passkey tenant:${globex?.id}`]) {
          await forget(device);
          await page.goto(url({ acr_values: acr }));
          await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
          if (acr === 'idp:passkey') {
            await page.getByRole('heading', { name: 'Choose an organisation' }).waitFor();
            await look('organisation');
            await page.getByRole('button', { name: /Globex/ }).click();
          }
          expect(await tokensIn(page)).toMatchObject({ amr: ['pop', 'mfa'], tid: globex?.id });
        }
        // PG-MAILPENDING: a sign-out everywhere also ends a sign-in that waits for the choice.
        await forget(device);
        await page.goto(url({ acr_values: 'idp:passkey' }));
        await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
        await page.getByRole('heading', { name: 'Choose an organisation' }).waitFor();
        const [account] = await service.idp.directory.accounts.candidates('ada@globex.test');
        await service.idp.tenant(globex?.id ?? '').users.signOutEverywhere(account?.person.user.id ?? '');
        await page.getByRole('button', { name: /Globex/ }).click();
        await page.getByRole('heading', { name: 'That did not work' }).waitFor();
      },
      { isDark: true },
    );
  });

  test('without JavaScript there is no button, no empty “or”, and a code of the app works', async () => {
    await onDevice(
      async ({ page, look: _ }) => {
        await page.goto(url());
        await page.getByLabel('E-mail or user name').waitFor();
        expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
        expect(await page.getByText('or', { exact: true }).isVisible()).toBe(false);
        await withPassword(page, 'zoe@acme.test', 'zoe', url({ acr_values: 'mfa' }));
        const secret = (await page.locator('#secret code').textContent()) ?? '';
        await page.getByLabel('6-digit code').fill(codeOf(secret));
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'I saved them' }).waitFor();
        expect(await page.locator('#codes code').count()).toBe(10);
        await page.getByRole('button', { name: 'I saved them' }).click();
        expect(await tokensIn(page)).toMatchObject({ amr: ['pwd', 'mfa'] });
      },
      { javaScriptEnabled: false },
    );
  });
});

test('at an IP address there are no passkeys, and a tenant that names them is refused', async () => {
  const other = await startIdp();
  try {
    const [acme] = await other.idp.directory.tenants.find();
    await expect(other.idp.directory.tenants.update(acme?.id ?? '', { signIn: { methods: ['passkey'] } })).rejects.toMatchObject({
      code: 'invalid_record',
    });
  } finally {
    await other.close();
  }
  const local = await startIdp({ hostname: 'localhost', seed: testSeed });
  try {
    const [acme] = await local.idp.directory.tenants.find();
    expect(await local.idp.directory.tenants.update(acme?.id ?? '', { signIn: { methods: ['passkey'] } })).toMatchObject({
      signIn: { methods: ['passkey'] },
    });
  } finally {
    await local.close();
  }
});
