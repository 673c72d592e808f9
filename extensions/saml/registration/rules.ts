/** What a service provider has to be beyond its form, and what becomes of what is left out. */
import { contrastRatio, type ExtensionContext, READABLE } from '../../../lib/extension-door.js';
import { addressProblem } from '../service-providers/addresses.js';
import { readCertificate } from '../service-providers/certificates.js';
import { type Fault, refuse } from '../service-providers/errors.js';
import { mayShareNames, otherWaysToUniqueNames } from '../service-providers/names-of-tenants.js';
import { MAX_RELAY_STATE_BYTES, type ServiceProviderFields } from '../service-providers/records.js';
import { isWritable } from '../xml/write.js';
import { claimNames, hasPseudonyms } from './offers.js';

/** What a service provider is registered with. */
export type Registration = Omit<ServiceProviderFields, 'source' | 'refreshAt' | 'failingSince' | 'expiresAt' | 'createdAt' | 'updatedAt'>;

type Service = Pick<ExtensionContext, 'service' | 'claims' | 'records' | 'directory'>;

/** Of which nothing was said. */
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
 * As it is kept: certificates in DER, each once.
 * @param owner a tenant's id, or `ofInstance`
 * @throws IdpError `invalid_record`
 */
export function checked<Given extends Registration>(given: Given, owner: string, service: Service): Given {
  const faults: Fault[] = [];
  const expect = (holds: boolean, path: string, expected: string): void => void (holds || faults.push({ path, expected }));
  const checkAddress = (address: string | undefined, path: string): void => {
    const problem = address === undefined ? undefined : addressProblem(address, service.service.production);
    if (problem !== undefined) faults.push({ path, expected: problem });
  };
  const certificateAt = (text: string, path: string) => {
    const read = readCertificate(text);
    if (typeof read !== 'string') return read;
    faults.push({ path, expected: read });
    return undefined;
  };

  const { assertionConsumerServices, singleLogoutServices, signAssertion, signResponse, encryption, nameId, attributes, idpInitiated } =
    given;
  const indexes = new Set<number>();
  for (const [at, { url, index }] of assertionConsumerServices.entries()) {
    checkAddress(url, `/assertionConsumerServices/${at}/url`);
    expect(!indexes.has(index), `/assertionConsumerServices/${at}/index`, 'an index that no other has');
    indexes.add(index);
  }
  const bindings = new Set<string>();
  for (const [at, { binding, url, responseUrl }] of singleLogoutServices.entries()) {
    checkAddress(url, `/singleLogoutServices/${at}/url`);
    checkAddress(responseUrl, `/singleLogoutServices/${at}/responseUrl`);
    expect(!bindings.has(binding), `/singleLogoutServices/${at}/binding`, 'a binding that no other has');
    bindings.add(binding);
  }
  const signing = given.signingCertificates.map((text, at) => certificateAt(text, `/signingCertificates/${at}`)?.certificate ?? text);
  if (signing.length === 0) {
    expect(!given.requireSignedRequests, '/signingCertificates', 'a certificate, because requests have to be signed');
    expect(singleLogoutServices.length === 0, '/signingCertificates', 'a certificate, because logout messages have to be signed');
  }
  const encrypting =
    given.encryptionCertificate === undefined ? undefined : certificateAt(given.encryptionCertificate, '/encryptionCertificate');
  expect(
    encryption === 'none' || given.encryptionCertificate !== undefined,
    '/encryptionCertificate',
    `a certificate, because encryption is ${encryption}`,
  );
  expect(encrypting?.isRsa !== false, '/encryptionCertificate', 'a certificate with an RSA key');
  expect(signAssertion || signResponse, '/signAssertion', 'true, unless signResponse is');

  const { format, claim } = nameId;
  expect(
    format !== 'persistent' || hasPseudonyms(service),
    '/nameId/format',
    'another format, because the option subjectSalt is not given',
  );
  expect(format !== 'unspecified' || claim !== undefined, '/nameId/claim', 'a claim, because the format is unspecified');
  const hasOwnValue = format === 'persistent' || format === 'transient';
  expect(!hasOwnValue || claim === undefined, '/nameId/claim', `no claim, because the format is ${format}`);
  const { ofAccounts, all: claims } = claimNames(service);
  const isId = claim === 'sub' || claim === 'oid' || claim === 'tid';
  expect(format !== 'emailAddress' || !isId, '/nameId/claim', 'a claim that is an e-mail address, or none');
  expect(claim === undefined || ofAccounts.has(claim), '/nameId/claim', 'a claim about people that service providers may get');
  const names = new Set<string>();
  for (const [at, attribute] of attributes.entries()) {
    expect(claims.has(attribute.claim), `/attributes/${at}/claim`, 'a claim that service providers may get');
    const name = JSON.stringify([attribute.name, attribute.format]);
    expect(!names.has(name), `/attributes/${at}/name`, 'a name that no other has in this format');
    names.add(name);
    for (const member of ['name', 'friendlyName'] as const)
      expect(isWritable(attribute[member] ?? ''), `/attributes/${at}/${member}`, 'characters that XML can carry');
  }
  const { accentColor } = given.styles ?? {};
  const isReadable = accentColor === undefined || contrastRatio(accentColor, '#ffffff') >= READABLE;
  expect(isReadable, '/styles/accentColor', `a colour with a contrast of ${READABLE}:1 to white or more`);
  const { relayState = '' } = idpInitiated;
  expect(Buffer.byteLength(relayState) <= MAX_RELAY_STATE_BYTES, '/idpInitiated/relayState', `at most ${MAX_RELAY_STATE_BYTES} bytes`);
  expect(
    !mayShareNames({ ...given, tid: owner }, service),
    '/allowedTenants',
    `tenants that trust each other, because users of two tenants may have the same NameID of this format; or ${otherWaysToUniqueNames}`,
  );
  expect(
    given.allowedTenants === undefined || owner === service.records.ofInstance,
    '/allowedTenants',
    'nothing, because it is of one tenant, and for its users',
  );
  refuse(faults);
  return {
    ...given,
    signingCertificates: [...new Set(signing)],
    ...(encrypting === undefined ? {} : { encryptionCertificate: encrypting.certificate }),
  };
}

/**
 * @param owner a tenant's id, or `ofInstance`
 * @throws IdpError `invalid_record` for a tenant that does not exist, and for a way of signing in that nothing offers the owner's users.
 */
export async function checkReferences(
  { allowedTenants, idp }: { readonly allowedTenants?: readonly string[] | null | undefined; readonly idp?: string | null | undefined },
  owner: string,
  { directory, records: { ofInstance } }: Service,
): Promise<void> {
  const faults: Fault[] = [];
  // No `acr_values` name `password`: it is among what `local` is.
  const isOffered =
    idp === 'local' || (idp !== 'password' && (await directory.policies.offers(idp ?? '', owner === ofInstance ? undefined : owner)));
  if (typeof idp === 'string' && !isOffered)
    faults.push({ path: '/idp', expected: 'local, or a sign-in method or a connection that exists' });
  for (const [at, tid] of (allowedTenants ?? []).entries())
    if (!(await directory.tenants.get(tid))) faults.push({ path: `/allowedTenants/${at}`, expected: 'a tenant that exists' });
  refuse(faults);
}
