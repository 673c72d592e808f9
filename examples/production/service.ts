/** The identity provider of one process, over the stores of the settings. */
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { createSeed } from './seed.js';
import type { Settings } from './settings.js';
import { openStores } from './stores.js';

export interface Service {
  readonly idp: IdentityProvider;
  /** Closes the service. Call `close` after all requests were answered. */
  close(): Promise<void>;
}

export async function openService(settings: Settings): Promise<Service> {
  const { artifacts, directory, close } = await openStores(settings);
  try {
    const idp = await createIdentityProvider({
      issuer: settings.issuer,
      artifacts,
      directory,
      seed: createSeed(settings),
      keys: { encryption: settings.encryptionKeys },
      cookies: { keys: settings.cookieKeys },
      subjectSalt: settings.subjectSalt,
      trustProxy: settings.proxies,
    });
    return {
      idp,
      async close() {
        await idp.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
