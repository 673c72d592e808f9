/** A service of one test, with the features that it is about. */
import { afterEach } from '@jest/globals';
import { basic, createPkce, type Json, postForm } from '../../support/client/agent.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../../support/service/idp.js';
import { testSeed } from '../../support/service/seed.js';

/** One password to hash. */
const seed = { ...testSeed, tenants: testSeed.tenants.slice(0, 1).map((tenant) => ({ ...tenant, persons: tenant.persons.slice(0, 1) })) };

/** Started by {@link start}. */
export let service: TestIdp;
afterEach(() => service.close());
export const start = async (features: NonNullable<TestIdpOptions['features']>): Promise<void> => {
  service = await startIdp({ features, seed });
};
export const discovery = async (): Promise<Json> => (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
export const token = (fields: Record<string, string>, headers: Record<string, string>) =>
  postForm(`${service.issuer}/connect/token`, fields, headers);
export const web = { authorization: basic('web', 'web-secret') };
export const withPkce = () => {
  const { verifier, challenge } = createPkce();
  return { verifier, parameters: { code_challenge: challenge, code_challenge_method: 'S256' } };
};
