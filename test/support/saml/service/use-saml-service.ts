/** A service with the SAML extension, and service providers that trust it. */
import { afterAll, expect } from '@jest/globals';
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import type { AdminClient } from '../../administration/admin.js';
import { Agent, type Answer } from '../../client/agent.js';
import type { TestIdpOptions } from '../../service/idp.js';
import { type IdpInUse, useIdp } from '../../service/use-idp.js';
import { pemOf, testKeyOf } from '../keys/test-keys.js';
import {
  type IdpDescription,
  type ServiceProviderOptions,
  startServiceProvider,
  type TestServiceProvider,
} from '../service-providers/node-saml.js';
import { travel } from '../service-providers/travel.js';
import { asAdministrator, samlOptions } from './administration.js';

export interface RegisteredServiceProvider extends TestServiceProvider {
  /** Id of its record. */
  readonly id: string;
  readonly idp: IdpDescription;
  /** Changes the registration, as an administrator does. */
  register(change: Readonly<Record<string, unknown>>): Promise<void>;
}

export interface AddOptions extends ServiceProviderOptions {
  /** Id of its tenant. @default none: it belongs to the instance */
  readonly tid?: string;
  /** Members of the registration, in addition to its own, or in their place. */
  readonly record?: Readonly<Record<string, unknown>>;
}

export interface SamlInUse extends IdpInUse {
  /** Returns the published metadata of an entity. @param tid of a tenant's entity. @default the instance's */
  describe(tid?: string): Promise<IdpDescription>;
  /** Starts a service provider and registers it by the admin API. */
  add(options?: AddOptions): Promise<RegisteredServiceProvider>;
  /** Returns the id of the tenant with this name. */
  tid(name: string): Promise<string>;
  /** Returns the id of the user with this name. */
  oid(userName: string): Promise<string>;
}

export interface SamlTestOptions extends TestIdpOptions {
  readonly saml?: SamlOptions;
}

/** Returns the published metadata of an entity. @param tid of a tenant's entity. @default the instance's */
export async function describeIdp(issuer: string, tid?: string): Promise<IdpDescription> {
  const base = `${issuer}/idp/saml${tid === undefined ? '' : `/t/${tid}`}`;
  const xml = await (await fetch(`${base}/metadata`)).text();
  const one = (pattern: RegExp): string => pattern.exec(xml)?.[1] ?? '';
  return {
    entityId: one(/entityID="([^"]*)"/),
    ssoUrl: one(/SingleSignOnService Binding="[^"]*HTTP-Redirect" Location="([^"]*)"/),
    sloUrl: one(/SingleLogoutService Binding="[^"]*HTTP-Redirect" Location="([^"]*)"/),
    certificates: [...xml.matchAll(/X509Certificate>([^<]+)<\//g)].map(([, der = '']) => pemOf(der)),
  };
}

/** Starts a service for the tests of a file, or of the surrounding `describe`. */
export function useSamlService({ saml: own = {}, extensions = [], ...options }: SamlTestOptions = {}): SamlInUse {
  const service = useIdp(async () => {
    const { key, certificate } = await testKeyOf('identity provider');
    return { ...samlOptions, ...options, extensions: [saml({ keys: [{ key, certificate }], ...own }), ...extensions] };
  });
  const started: TestServiceProvider[] = [];
  afterAll(() => Promise.all(started.map((each) => each.close())));
  let root: Promise<AdminClient> | undefined;
  const administrator = (): Promise<AdminClient> => {
    root ??= asAdministrator(service.issuer, 'root');
    return root;
  };

  const describe = (tid?: string): Promise<IdpDescription> => describeIdp(service.issuer, tid);

  const members: Omit<SamlInUse, keyof IdpInUse> = {
    describe,
    async add({ tid, record = {}, ...given } = {}) {
      const idp = await describe(tid);
      const provider = await startServiceProvider(idp, given);
      started.push(provider);
      const admin = await administrator();
      const path = `${tid === undefined ? '' : `/tenants/${tid}`}/saml-service-providers`;
      // The admin API refuses a service provider of all tenants if users of two tenants may have the same NameID.
      const everyTenant = (await service.idp.directory.tenants.find({ limit: 100 })).map((tenant) => tenant.id);
      const withTenants = (fields: Readonly<Record<string, unknown>>) => {
        const { format } = (fields.nameId ?? {}) as { readonly format?: string };
        const isOwnToTenant = format === 'emailAddress' || format === 'unspecified';
        return tid === undefined && isOwnToTenant ? { allowedTenants: everyTenant, ...fields } : fields;
      };
      const { status, json, text } = await admin.post(path, withTenants({ ...provider.registration(), ...record }));
      expect([status, status === 201 ? '' : text]).toEqual([201, '']);
      const register = async (change: Readonly<Record<string, unknown>>): Promise<void> => {
        const changed = await admin.patch(`${path}/${json.id}`, withTenants(change));
        expect([changed.status, changed.status === 200 ? '' : changed.text]).toEqual([200, '']);
      };
      const more = { id: json.id, idp, register };
      return Object.defineProperties(provider, Object.getOwnPropertyDescriptors(more)) as RegisteredServiceProvider;
    },
    async tid(name) {
      return (await service.idp.directory.tenants.find({ limit: 100 })).find((tenant) => tenant.name === name)?.id ?? '';
    },
    async oid(userName) {
      return (await service.idp.directory.accounts.candidates(userName))[0]?.person.user.id ?? '';
    },
  };
  return Object.defineProperties(service, Object.getOwnPropertyDescriptors(members)) as SamlInUse;
}

interface Someone {
  readonly userName: string;
  readonly password: string;
}
export const bob = { userName: 'bob@globex.test', password: 'bob' } as const;
export const alice = { userName: 'alice@acme.test', password: 'alice' } as const;
export const carol = { userName: 'carol@acme.test', password: 'carol' } as const;

/** Signs in on the pages of the service, to which a service provider led. Returns the last answer. */
export async function signInOn(agent: Agent, page: Answer, { userName, password }: Someone): Promise<Answer> {
  const next = await agent.submit(page, { identifier: userName });
  return travel(agent, await agent.submit(next, { password }));
}

/** Returns a browser that is signed in at these service providers, by one sign-in. */
export async function signedInAt(providers: readonly TestServiceProvider[], person: Someone = bob): Promise<Agent> {
  const agent = new Agent();
  for (const { loginUrl } of providers) {
    const answer = await travel(agent, loginUrl);
    if (!answer.body.includes('<h1>signed in as')) await signInOn(agent, answer, person);
  }
  return agent;
}
