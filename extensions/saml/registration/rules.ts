/** Rules for registrations that the schema cannot express, and the defaults. */
import { contrastRatio, type ExtensionContext, present, READABLE } from '../../../lib/extension-door.js';
import { addressProblem } from '../service-providers/addresses.js';
import { readCertificate } from '../service-providers/certificates.js';
import { type Fault, refuse } from '../service-providers/errors.js';
import { mayShareNames, otherWaysToUniqueNames } from '../service-providers/name-id-uniqueness.js';
import { MAX_RELAY_STATE_BYTES, type ServiceProviderFields } from '../service-providers/records.js';
import { isWritable } from '../xml/write.js';

/** Members of a service provider that an administrator or its metadata decides. */
export type Registration = Omit<ServiceProviderFields, 'source' | 'refreshAt' | 'failingSince' | 'expiresAt' | 'createdAt' | 'updatedAt'>;

type Service = Pick<ExtensionContext, 'service' | 'claims' | 'records' | 'directory'>;

/** Returns the defaults. */
export const defaultsOf = (service: Service): Omit<Registration, 'name' | 'entityId' | 'assertionConsumerServices'> => ({
  status: 'active',
  singleLogoutServices: [],
  signingCertificates: [],
  requireSignedRequests: false,
  encryption: 'none',
  signAssertion: true,
  signResponse: false,
  nameId: hasPseudonyms(service) ? { format: 'persistent' } : { format: 'unspecified', claim: 'sub' },
  attributes: [],
  requireMfa: false,
  idpInitiated: { isAllowed: false },
  impersonation: 'refuse',
});

/**
 * Returns the registration as it is stored: certificates in DER, without duplicates.
 * @param owner a tenant's id, or `ofInstance`
 * @throws IdpError `invalid_record`
 */
export function checked<Given extends Registration>(given: Given, owner: string, service: Service): Given {
  const faults = new Faults();
  checkEndpoints(given, service, faults);
  const certificates = checkCertificates(given, faults);
  checkNameId(given, service, faults);
  checkAttributes(given, service, faults);
  const { accentColor } = given.styles ?? {};
  const isReadable = accentColor === undefined || contrastRatio(accentColor, '#ffffff') >= READABLE;
  faults.expect(isReadable, '/styles/accentColor', `a colour with a contrast of ${READABLE}:1 to white or more`);
  const { relayState = '' } = given.idpInitiated;
  const isShort = Buffer.byteLength(relayState) <= MAX_RELAY_STATE_BYTES;
  faults.expect(isShort, '/idpInitiated/relayState', `at most ${MAX_RELAY_STATE_BYTES} bytes`);
  faults.expect(
    !mayShareNames({ ...given, tid: owner }, service),
    '/allowedTenants',
    `tenants that trust each other, because users of two tenants may have the same NameID of this format; or ${otherWaysToUniqueNames}`,
  );
  faults.expect(
    given.allowedTenants === undefined || owner === service.records.ofInstance,
    '/allowedTenants',
    'nothing, because the service provider belongs to one tenant',
  );
  refuse(faults.all);
  return { ...given, ...certificates };
}

/** Collects the faults of a registration. */
class Faults {
  readonly all: Fault[] = [];

  expect(holds: boolean, path: string, expected: string): void {
    if (!holds) this.all.push({ path, expected });
  }

  expectAddress(address: string | undefined, path: string, isProduction: boolean): void {
    const problem = address === undefined ? undefined : addressProblem(address, isProduction);
    if (problem !== undefined) this.all.push({ path, expected: problem });
  }

  certificateAt(text: string, path: string) {
    const read = readCertificate(text);
    if (typeof read !== 'string') return read;
    this.all.push({ path, expected: read });
    return undefined;
  }
}

function checkEndpoints({ assertionConsumerServices, singleLogoutServices }: Registration, { service }: Service, faults: Faults): void {
  const indexes = new Set<number>();
  for (const [place, { url, index }] of assertionConsumerServices.entries()) {
    faults.expectAddress(url, `/assertionConsumerServices/${place}/url`, service.production);
    faults.expect(!indexes.has(index), `/assertionConsumerServices/${place}/index`, 'an index that no other endpoint has');
    indexes.add(index);
  }
  const bindings = new Set<string>();
  for (const [place, { binding, url, responseUrl }] of singleLogoutServices.entries()) {
    faults.expectAddress(url, `/singleLogoutServices/${place}/url`, service.production);
    faults.expectAddress(responseUrl, `/singleLogoutServices/${place}/responseUrl`, service.production);
    faults.expect(!bindings.has(binding), `/singleLogoutServices/${place}/binding`, 'a binding that no other service has');
    bindings.add(binding);
  }
}

/** Returns the certificates as they are stored. */
function checkCertificates(
  {
    signingCertificates,
    encryptionCertificate,
    requireSignedRequests,
    singleLogoutServices,
    signAssertion,
    signResponse,
    encryption,
  }: Registration,
  faults: Faults,
): Pick<Registration, 'signingCertificates' | 'encryptionCertificate'> {
  const signing = signingCertificates.map(
    (text, place) => faults.certificateAt(text, `/signingCertificates/${place}`)?.certificate ?? text,
  );
  if (signing.length === 0) {
    faults.expect(!requireSignedRequests, '/signingCertificates', 'a certificate, because requests have to be signed');
    const isNoLogout = singleLogoutServices.length === 0;
    faults.expect(isNoLogout, '/signingCertificates', 'a certificate, because logout messages have to be signed');
  }
  const encrypting =
    encryptionCertificate === undefined ? undefined : faults.certificateAt(encryptionCertificate, '/encryptionCertificate');
  faults.expect(
    encryption === 'none' || encryptionCertificate !== undefined,
    '/encryptionCertificate',
    `a certificate, because encryption is ${encryption}`,
  );
  faults.expect(encrypting?.isRsa !== false, '/encryptionCertificate', 'a certificate with an RSA key');
  faults.expect(signAssertion || signResponse, '/signAssertion', 'true, unless signResponse is');
  return { signingCertificates: [...new Set(signing)], ...present({ encryptionCertificate: encrypting?.certificate }) };
}

function checkNameId({ nameId: { format, claim } }: Registration, service: Service, faults: Faults): void {
  faults.expect(
    format !== 'persistent' || hasPseudonyms(service),
    '/nameId/format',
    'another format, because the option subjectSalt is not given',
  );
  faults.expect(format !== 'unspecified' || claim !== undefined, '/nameId/claim', 'a claim, because the format is unspecified');
  const hasOwnValue = format === 'persistent' || format === 'transient';
  faults.expect(!hasOwnValue || claim === undefined, '/nameId/claim', `no claim, because the format is ${format}`);
  const isId = claim === 'sub' || claim === 'oid' || claim === 'tid';
  faults.expect(format !== 'emailAddress' || !isId, '/nameId/claim', 'a claim that is an e-mail address, or none');
  const isKnown = claim === undefined || claimNames(service).ofAccounts.has(claim);
  faults.expect(isKnown, '/nameId/claim', 'a claim about people that service providers may get');
}

function checkAttributes({ attributes }: Registration, service: Service, faults: Faults): void {
  const { all: claims } = claimNames(service);
  const names = new Set<string>();
  for (const [place, attribute] of attributes.entries()) {
    faults.expect(claims.has(attribute.claim), `/attributes/${place}/claim`, 'a claim that service providers may get');
    const name = JSON.stringify([attribute.name, attribute.format]);
    faults.expect(!names.has(name), `/attributes/${place}/name`, 'a name that no other attribute has in this format');
    names.add(name);
    for (const member of ['name', 'friendlyName'] as const)
      faults.expect(isWritable(attribute[member] ?? ''), `/attributes/${place}/${member}`, 'characters that XML can carry');
  }
}

/**
 * Checks that the tenants and the sign-in method of a registration exist.
 * @param owner a tenant's id, or `ofInstance`
 * @throws IdpError `invalid_record` for an unknown tenant, and for a sign-in method that users of the owner do not have
 */
export async function checkReferences(
  { allowedTenants, idp }: { readonly allowedTenants?: readonly string[] | null | undefined; readonly idp?: string | null | undefined },
  owner: string,
  { directory, records: { ofInstance } }: Service,
): Promise<void> {
  const faults: Fault[] = [];
  // `acr_values` cannot name `password`, because `local` includes it.
  const isOffered =
    idp === 'local' || (idp !== 'password' && (await directory.policies.offers(idp ?? '', owner === ofInstance ? undefined : owner)));
  if (typeof idp === 'string' && !isOffered)
    faults.push({ path: '/idp', expected: 'local, or a sign-in method or a connection that exists' });
  for (const [place, tid] of (allowedTenants ?? []).entries())
    if (!(await directory.tenants.get(tid))) faults.push({ path: `/allowedTenants/${place}`, expected: 'a tenant that exists' });
  refuse(faults);
}

/**
 * Returns the claims that service providers may get. `ofAccounts` are claims about accounts, which can be a NameID. `all` also has the claims of the
 * sign-in.
 */
function claimNames({ claims }: Pick<ExtensionContext, 'claims'>) {
  const declared = claims.declared.flatMap(({ name, targets }) => (targets.includes('saml') ? [name] : []));
  const ofAccounts: ReadonlySet<string> = new Set(['sub', 'oid', 'tid', ...declared]);
  const all: ReadonlySet<string> = new Set(['idp', 'amr', 'act', ...ofAccounts]);
  return { ofAccounts, all };
}

/** Returns whether the service has pseudonyms: another identifier of a user for each service provider. */
const hasPseudonyms = ({ claims: { pseudonyms } }: Pick<ExtensionContext, 'claims'>): boolean => pseudonyms !== undefined;
