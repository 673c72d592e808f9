/** tenant-idp on its memory stores, with every standard claim computed from the directory. */
import { createIdentityProvider } from '../lib/index.js';
import { serveAsChild } from './child.js';
import { seed, signingKeys } from './world.js';

const quiet = () => {};
const logger = { debug: quiet, info: quiet, warn: quiet, error: console.error };

await serveAsChild(async (issuer) => {
  const idp = await createIdentityProvider({ issuer, seed, keys: { signing: signingKeys }, logger });
  return idp.callback();
});
