/** A service for one test, with the features under test. */
import { afterEach } from '@jest/globals';
import { basic, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../../support/service/idp.js';
import { testSeed } from '../../support/service/seed.js';

/** Seed with one password to hash. */
const seed = { ...testSeed, tenants: testSeed.tenants.slice(0, 1).map((tenant) => ({ ...tenant, persons: tenant.persons.slice(0, 1) })) };

/** Returns a service for the tests of a file. Each test starts its own. */
export function useFeatures() {
  let running: TestIdp;
  afterEach(() => running.close());
  return {
    service: {
      get idp() {
        return running.idp;
      },
      get issuer() {
        return running.issuer;
      },
    },
    async start(features: NonNullable<TestIdpOptions['features']>): Promise<void> {
      running = await startIdp({ features, seed });
    },
    discovery: async (): Promise<Json> => (await fetch(`${running.issuer}/.well-known/openid-configuration`)).json(),
    token: (fields: Record<string, string>, headers: Record<string, string>) =>
      postForm(`${running.issuer}/connect/token`, fields, headers),
  };
}

export const web = { authorization: basic('web', 'web-secret') };
export const withPkce = () => {
  const { verifier, challenge } = createPkce();
  return { verifier, parameters: { code_challenge: challenge, code_challenge_method: 'S256' } };
};
