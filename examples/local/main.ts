/** The demo, `npm start`: an identity provider and a relying party on this machine. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { ConfigError, createIdentityProvider } from 'tenant-idp';
import { banner } from './banner.js';
import { createPhones } from './call-centre/phones.js';
import { keyOptions, makeKeys, openStores, storedKeys } from './data.js';
import { createMailbox } from './mailbox.js';
import { openOwnProvider, ownProviderClient, serveOwnProvider } from './own-provider.js';
import { createRelyingParty } from './relying-party.js';
import { createSeed, supportPermission } from './seed.js';
import { checkPort, readSettings, type Settings, SettingsError } from './settings.js';

/** Milliseconds in which requests have to end at the end of the demo. */
const GRACE_MS = 1_000;

/** Starts both servers. Resolves with a function that stops both, when both serve. */
async function startDemo({
  port,
  rpPort,
  issuer,
  rpOrigin,
  hasSaml,
  data,
}: Settings): Promise<{ ownProvider: string; stop: () => Promise<void> }> {
  await checkPort(port, 'PORT');
  await checkPort(rpPort, 'RP_PORT');
  const mailbox = createMailbox();
  const phones = createPhones();
  const stores = data === undefined ? undefined : openStores(data);
  const stored = data === undefined ? undefined : storedKeys(data);
  if (stored) await checkPort(stored.ownProviderPort);
  const { server: ownProvider, origin, port: ownProviderPort } = await openOwnProvider(stored?.ownProviderPort);
  await serveOwnProvider(ownProvider, origin, issuer);
  const saml = hasSaml ? await createSaml(issuer, rpOrigin) : undefined;
  const keyed = data === undefined ? undefined : keyOptions(stored ?? makeKeys(data, ownProviderPort));
  const idp = await createIdentityProvider({
    issuer,
    ...stores,
    ...keyed,
    // Browsers send a cookie to every port of localhost, so demos on two ports would sign each other out.
    cookies: { prefix: `demo-${port}-`, ...keyed?.cookies },
    seed: createSeed(rpOrigin, { issuer: origin, ...ownProviderClient }, saml?.registrations),
    ...(saml && { extensions: saml.extensions, subjectSalt: keyed?.subjectSalt ?? saml.subjectSalt }),
    // The full cost would protect nothing, because the demo prints its passwords.
    passwords: { scryptCost: 2 ** 10 },
    branding: { privacyUri: `${rpOrigin}/privacy`, termsUri: `${rpOrigin}/terms`, helpUri: `${rpOrigin}/help` },
    mail: { send: mailbox.keep },
    ciba: { notify: phones.notify },
    impersonation: { permission: supportPermission, notify: true },
  });
  const idpServer = await idp.listen(port);
  const rpServer = createServer(createRelyingParty({ issuer, origin: rpOrigin, mailbox, phones, ...saml }).callback());
  await once(rpServer.listen(rpPort), 'listening');

  const stop = async () => {
    setTimeout(() => {
      for (const server of [idpServer, rpServer, ownProvider]) server.closeAllConnections();
    }, GRACE_MS).unref();
    const ended = [rpServer, ownProvider].map((server) => new Promise((resolve) => server.close(resolve)));
    await Promise.all([idp.close(), ...ended]);
  };
  return { ownProvider: origin, stop };
}

/** Loads the parts of SAML only if SAML is switched on, because these parts need optional packages. */
async function createSaml(issuer: string, rpOrigin: string) {
  const [{ saml }, { createKeys }, { createServiceProvider, registrationOf }] = await Promise.all([
    import('tenant-idp/extensions/saml'),
    import('./saml/keys.js'),
    import('./saml/service-provider.js'),
  ]);
  const keys = await createKeys('Expense desk');
  return {
    extensions: [saml()],
    // Salt of persistent NameIDs.
    subjectSalt: 'the salt of the demo',
    registrations: [registrationOf(rpOrigin, keys)],
    serviceProvider: createServiceProvider(issuer, rpOrigin, keys),
  };
}

/** Stops the demo when npm's shell has ended, because that shell does not pass on SIGTERM. */
function onceOrphaned(then: () => unknown): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    then();
  }, 250).unref();
}

try {
  const settings = readSettings(process.env, process.argv.slice(2));
  const { ownProvider, stop } = await startDemo(settings);
  console.log(banner(settings, ownProvider));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  if (process.env.npm_lifecycle_event !== undefined) onceOrphaned(stop);
} catch (error) {
  const isSettings = error instanceof SettingsError || error instanceof ConfigError;
  console.error(isSettings ? error.message : error);
  process.exit(1);
}
