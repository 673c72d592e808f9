/** Rules of connections beyond their form, and the defaults of the presets. */
import { canParseUrl, type ExtensionContext, IdpError, isLoopback } from '../../../lib/extension-door.js';
import { foldedDomain } from '../email-domains.js';
import type { ConnectionFields } from '../records.js';
import { isProviderUrl } from '../upstream/provider.js';
import { ownParameters } from '../upstream/request.js';
import type { Form } from './schemas.js';

/** Members that an administrator sets, with defaults. */
export type Described = Omit<ConnectionFields, 'secret' | 'keys' | 'vouchedBy' | 'groupVouchers' | 'createdAt' | 'updatedAt'>;

const standardMapping: ConnectionFields['mapping'] = {
  userName: { claim: 'email' },
  givenName: { claim: 'given_name' },
  familyName: { claim: 'family_name' },
  email: { claim: 'email' },
};
const defaults: Omit<Described, 'preset' | 'name' | 'issuer' | 'clientId'> = {
  status: 'active',
  clientAuth: 'client_secret_basic',
  keyAlgorithm: 'RS256',
  scopes: ['profile', 'email'],
  subjectClaim: 'sub',
  requiredClaims: [],
  requireVerifiedEmail: true,
  mapping: standardMapping,
  linkBySignIn: false,
  hasButton: true,
  domains: [],
  mfa: { amr: [], acr: [] },
  parameters: [],
  renamed: [],
  endSession: false,
};
const GOOGLE = 'https://accounts.google.com';
const ofPreset: Readonly<Record<ConnectionFields['preset'], Partial<Described>>> = {
  oidc: {},
  google: { issuer: GOOGLE },
  /**
   * Entra does not state whether an address is verified. The `sub` of a user differs between applications. The `oid` identifies a user of the Entra tenant.
   */
  entra: {
    clientAuth: 'client_secret_post',
    subjectClaim: 'oid',
    requireVerifiedEmail: false,
    mapping: { ...standardMapping, userName: { claim: 'preferred_username' } },
    mfa: { amr: ['mfa'], acr: [] },
  },
};
const entraHosts = ['https://login.microsoftonline.com', 'https://login.microsoftonline.us', 'https://login.partner.microsoftonline.cn'];
const entraPath = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/v2\.0$/i;

/** Claims that a user can choose, or that several users can share. None of these claims identifies a user. */
const namesNobody: ReadonlySet<string> = new Set(['email', 'preferred_username', 'upn', 'unique_name', 'name', 'nickname', 'phone_number']);

/**
 * Returns the issuer in a pasted text, which may be the address of the discovery document: the issuer and a fixed ending.
 * @see OpenID Connect Discovery §4.1
 */
const issuerIn = (pasted: string): string =>
  pasted.replace(/^[\s\ufeff]+|[\s\ufeff]+$/g, '').replace(/\/\.well-known\/openid-configuration\/?$/, '');

/** Returns the connection with the defaults of its preset. @throws IdpError `invalid_record` */
export function described(
  { id: _, clientSecret: __, ...given }: Form & { readonly id?: string },
  { service: { production }, http: { fetchProblem } }: Pick<ExtensionContext, 'service' | 'http'>,
): Described {
  const preset = given.preset ?? 'oidc';
  const issuer = given.issuer === undefined ? ofPreset[preset].issuer : issuerIn(given.issuer);
  if (issuer === undefined) throw wrong('/issuer', 'the issuer of the provider');
  const problem = fetchProblem(issuer);
  if (problem !== undefined) throw wrong('/issuer', problem);
  return checked({ ...defaults, ...ofPreset[preset], ...given, preset, issuer }, production);
}

/** Returns the connection with folded domains and, for Entra, with the required claim `tid`. @throws IdpError `invalid_record` */
export function checked(given: Described, production: boolean): Described {
  const { preset, issuer, parameters, renamed, subjectClaim } = given;
  const { protocol, hostname, pathname, search, hash } = canParseUrl(issuer) ? new URL(issuer) : new URL('none://none');
  const isDouble = !production && protocol !== 'none:' && isLoopback(hostname);
  if (!isProviderUrl(issuer, production) || search !== '' || hash !== '')
    throw wrong('/issuer', 'an https URL without a query, or http at a loopback address outside production');
  if (preset === 'google' && issuer !== GOOGLE && !isDouble) throw wrong('/issuer', GOOGLE);
  const tenant = entraPath.exec(pathname)?.[1];
  if (preset === 'entra' && (tenant === undefined || !(entraHosts.includes(new URL(issuer).origin) || isDouble)))
    throw wrong('/issuer', 'https://login.microsoftonline.com/{id of the Entra tenant}/v2.0');
  if (namesNobody.has(subjectClaim)) throw wrong('/subjectClaim', 'a claim that always names the same person, such as sub');
  const taken = new Set(ownParameters);
  for (const [index, { name }] of parameters.entries()) {
    if (taken.has(name)) throw wrong(`/parameters/${index}/name`, 'a parameter that the service does not set itself, once');
    taken.add(name);
  }
  for (const [index, { as }] of renamed.entries()) {
    if (taken.has(as)) throw wrong(`/renamed/${index}/as`, 'a parameter that nothing else sets');
    taken.add(as);
  }
  const domains = given.domains.map((domain, index) => {
    const folded = foldedDomain(domain);
    if (folded === undefined) throw wrong(`/domains/${index}`, 'a domain of e-mail addresses');
    return folded;
  });
  const ofTenant = preset === 'entra' && tenant !== undefined ? [{ claim: 'tid', value: tenant.toLowerCase() }] : [];
  const others = given.requiredClaims.filter(({ claim }) => ofTenant.length === 0 || claim !== 'tid');
  return { ...given, domains: [...new Set(domains)], requiredClaims: [...ofTenant, ...others] };
}

/** Checks the tenant of new users, and that the mapped groups are of that tenant. @throws IdpError `invalid_record` */
export async function checkReferences(
  { directory, records: { ofInstance } }: ExtensionContext,
  tid: string,
  { createUsersIn, mapping }: Described,
): Promise<void> {
  if (createUsersIn !== undefined && tid !== ofInstance && createUsersIn !== tid)
    throw wrong('/createUsersIn', 'the tenant of the connection');
  if (createUsersIn !== undefined && !(await directory.tenants.get(createUsersIn))) throw wrong('/createUsersIn', 'a tenant that exists');
  if (mapping.groups === undefined) return;
  const owner = tid === ofInstance ? createUsersIn : tid;
  if (owner === undefined) throw wrong('/mapping/groups', 'createUsersIn too, because each group belongs to a tenant');
  const ids = new Set((await directory.forTenant(owner).groups.find()).map(({ id }) => id));
  const unknown = mapping.groups.values.findIndex(({ groupId }) => !ids.has(groupId));
  if (unknown >= 0) throw wrong(`/mapping/groups/values/${unknown}/groupId`, 'a group of the tenant');
}

export const wrong = (path: string, expected: string): IdpError => new IdpError('invalid_record', { path, expected });
