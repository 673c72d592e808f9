/**
 * Reads metadata of service providers, or reports why metadata is unusable. The signature of metadata is not verified. So everybody who can change what the
 * URL of the metadata answers can change the service provider. @see SAML Metadata §2
 */

import { present } from '../../../lib/extension-door.js';
import { nameIdFormatOf } from '../messages/name-id.js';
import type { ServiceProviderFields } from '../service-providers/records.js';
import { attribute, children, elementsOf, isNamed } from '../xml/elements.js';
import { type Malformation, MalformedXml } from '../xml/malformed.js';
import { ns } from '../xml/namespaces.js';
import { parseStrict } from '../xml/strict.js';
import { instantAttribute } from '../xml/values.js';
import { type ServiceProviderDescription, UnusableMetadata } from './description.js';
import { documentIn } from './document.js';
import { assertionConsumerServices, singleLogoutServices } from './endpoints.js';
import { encryptionOf, keysOf, signingCertificates } from './keys.js';
import { type ReaderContext, Reading } from './reading.js';

const limits = { maxBytes: 512 * 1024, maxNodes: 5_000, maxDepth: 32, allowComments: true };
const malformed: Readonly<Record<Malformation, string>> = {
  xml_encoding: 'UTF-8, UTF-16, ISO-8859-1 or windows-1252, as it is declared',
  xml_too_long: 'at most 512 KB',
  xml_too_complex: `at most ${limits.maxNodes} elements and attributes, at most ${limits.maxDepth} deep`,
  xml_forbidden_construct: 'no DTD, entity, CDATA section or processing instruction',
  xml_not_well_formed: 'well-formed XML with namespaces',
  xml_duplicate_id: 'each ID once',
  xml_structure: 'SAML metadata',
};
const DOCUMENT = 'document';

/** Reads metadata. @throws UnusableMetadata */
export function readMetadata(xml: string | Uint8Array, context: ReaderContext): ServiceProviderDescription {
  const reading = new Reading(context);
  const descriptor = serviceProviderIn(reading, rootOf(reading, xml));
  const description = descriptor && described(reading, descriptor);
  if (reading.faults.length > 0 || !description) throw new UnusableMetadata(reading.faults);
  return description;
}

function rootOf(reading: Reading, xml: string | Uint8Array): Element | undefined {
  try {
    return parseStrict(documentIn(xml), limits);
  } catch (error) {
    if (!(error instanceof MalformedXml)) throw error;
    reading.fault(DOCUMENT, malformed[error.reason]);
    return undefined;
  }
}

interface FoundDescriptor {
  readonly entity: Element;
  readonly descriptor: Element;
  readonly entityId: string;
  /** Elements around the entity, from the outside, which may have a `validUntil`. */
  readonly ancestors: readonly Element[];
  /** Paths of the entity and of its descriptor. */
  readonly path: string;
  readonly descriptorPath: string;
}

/** Returns the descriptor of the expected service provider. */
function serviceProviderIn(reading: Reading, root: Element | undefined): FoundDescriptor | undefined {
  if (!root) return undefined;
  if (!isNamed(root, ns.md, 'EntityDescriptor') && !isNamed(root, ns.md, 'EntitiesDescriptor')) {
    reading.fault(DOCUMENT, 'an EntityDescriptor or EntitiesDescriptor of SAML 2.0 metadata');
    return undefined;
  }
  const { entityId } = reading.context;
  const entities = entitiesIn(root, [], '').filter(({ entity }) => entityId === undefined || attribute(entity, 'entityID') === entityId);
  if (entities.length === 0) {
    reading.fault(DOCUMENT, entityId === undefined ? 'an EntityDescriptor' : `an EntityDescriptor with the entityID ${entityId}`);
    return undefined;
  }
  const descriptors = entities.flatMap(({ entity, ancestors, path }) =>
    children(entity, ns.md, 'SPSSODescriptor').map((descriptor, place) => {
      const descriptorPath = `${path === '' ? '' : `${path}/`}SPSSODescriptor[${place}]`;
      return { entity, descriptor, ancestors, path, descriptorPath, entityId: attribute(entity, 'entityID')?.trim() ?? '' };
    }),
  );
  const ofSaml2 = descriptors.filter(({ descriptor }) =>
    (attribute(descriptor, 'protocolSupportEnumeration') ?? '').split(/\s+/).includes(ns.samlp),
  );
  const [first, second] = ofSaml2;
  if (descriptors.length === 0) reading.fault(entities[0]?.path || DOCUMENT, 'an SPSSODescriptor');
  else if (!first) reading.fault(`${descriptors[0]?.descriptorPath}/@protocolSupportEnumeration`, ns.samlp);
  else if (second) reading.fault(DOCUMENT, `one SPSSODescriptor, or the entityId of one, because there are ${ofSaml2.length}`);
  return second ? undefined : first;
}

interface EntityIn {
  readonly entity: Element;
  readonly ancestors: readonly Element[];
  readonly path: string;
}

function entitiesIn(element: Element, ancestors: readonly Element[], path: string): readonly EntityIn[] {
  if (isNamed(element, ns.md, 'EntityDescriptor')) return [{ entity: element, ancestors, path }];
  return ['EntityDescriptor', 'EntitiesDescriptor'].flatMap((name) =>
    children(element, ns.md, name).flatMap((child, place) =>
      entitiesIn(child, [...ancestors, element], `${path === '' ? '' : `${path}/`}${name}[${place}]`),
    ),
  );
}

function described(reading: Reading, foundDescriptor: FoundDescriptor): ServiceProviderDescription {
  const { entity, descriptor, entityId, path, descriptorPath } = foundDescriptor;
  const { overridden, hadCertificates = false } = reading.context;
  if (!/^[!-~]{1,1024}$/.test(entityId))
    reading.fault(`${path === '' ? 'EntityDescriptor' : path}/@entityID`, '1 to 1024 visible ASCII characters');
  const validUntil = validUntilOf(reading, foundDescriptor);
  const flag = (name: string) => reading.flag(descriptor, name, descriptorPath) ?? false;

  const keys = keysOf(reading, descriptor, descriptorPath);
  const isAsked = overridden.has('requireSignedRequests');
  const requireSignedRequests = !isAsked && flag('AuthnRequestsSigned');
  const isNeeded = hadCertificates || requireSignedRequests;
  const signing = overridden.has('signingCertificates') ? undefined : signingCertificates(reading, keys, isNeeded);
  if (signing?.length === 0) {
    if (hadCertificates) reading.fault(descriptorPath, 'a KeyDescriptor for signing, because the service provider is registered with one');
    else if (requireSignedRequests) reading.fault(descriptorPath, 'a KeyDescriptor for signing, because AuthnRequestsSigned is true');
  }

  const members: { -readonly [Member in keyof ServiceProviderDescription['members']]: ServiceProviderDescription['members'][Member] } = {
    ...(isAsked ? {} : { requireSignedRequests }),
    ...(signing && { signingCertificates: [...signing] }),
    ...(overridden.has('encryptionCertificate') ? {} : encryptionOf(reading, keys)),
  };
  if (!overridden.has('assertionConsumerServices'))
    members.assertionConsumerServices = [...assertionConsumerServices(reading, descriptor, descriptorPath)];
  if (!overridden.has('singleLogoutServices')) members.singleLogoutServices = logoutOf(reading, foundDescriptor, signing);
  const nameId = nameIdOf(descriptor);
  if (nameId) members.nameId = nameId;
  const name = nameOf(entity, descriptor);
  if (name !== undefined) members.name = name;

  noteIgnored(reading, foundDescriptor);
  return {
    entityId,
    members,
    wantsSignedAssertions: flag('WantAssertionsSigned'),
    notes: reading.notes,
    warnings: reading.warnings,
    ...present({ validUntil }),
  };
}

/** Returns the logout services. Without a certificate there are no logout services, because logout messages need a signature. */
function logoutOf(reading: Reading, { descriptor, descriptorPath }: FoundDescriptor, signing: readonly string[] | undefined) {
  const services = singleLogoutServices(reading, descriptor, descriptorPath);
  if (signing?.length !== 0 || services.length === 0) return [...services];
  reading.note(descriptorPath, 'its SingleLogoutService is not used, because it has no certificate that its messages could be verified by');
  return [];
}

function validUntilOf(reading: Reading, { entity, descriptor, ancestors, path, descriptorPath }: FoundDescriptor): string | undefined {
  const places = [
    ...ancestors.map((element) => [element, DOCUMENT] as const),
    [entity, path || 'EntityDescriptor'],
    [descriptor, descriptorPath],
  ] as const;
  const instants = places.flatMap(([element, place]) => {
    const instant = reading.part(`${place}/@validUntil`, 'an instant', () => instantAttribute(element, 'validUntil'));
    // Expired metadata may be an old document, with keys that are no longer trusted.
    if (!reading.context.mayBeOver && instant !== undefined && instant <= reading.context.now)
      reading.fault(`${place}/@validUntil`, 'an instant in the future');
    return instant === undefined ? [] : [instant];
  });
  return instants.length === 0 ? undefined : new Date(Math.min(...instants)).toISOString();
}

/** Returns the first format that this service supports. */
function nameIdOf(descriptor: Element): ServiceProviderFields['nameId'] | undefined {
  const named = children(descriptor, ns.md, 'NameIDFormat').map((element) => nameIdFormatOf(wordsOf(element) ?? ''));
  // `unspecified` requests no format.
  const format = named.find((one) => one !== undefined && one !== 'unspecified');
  return format && { format };
}

/** Returns the display name, in English if there is one. @see SAML V2.0 Metadata Extensions for Login and Discovery User Interface §2.1.2 */
function nameOf(entity: Element, descriptor: Element): string | undefined {
  const shown = children(descriptor, ns.md, 'Extensions')
    .flatMap((extensions) => children(extensions, ns.mdui, 'UIInfo'))
    .flatMap((info) => children(info, ns.mdui, 'DisplayName'));
  const organisation = children(entity, ns.md, 'Organization').flatMap((element) => children(element, ns.md, 'OrganizationDisplayName'));
  for (const names of [shown, organisation]) {
    const english = names.filter((element) => /^en\b/i.test(element.getAttributeNS(ns.xml, 'lang') ?? ''));
    const name = [...english, ...names].map(wordsOf).find((words) => words !== undefined);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** Returns at most 200 characters, without control characters. */
function wordsOf(element: Element): string | undefined {
  if (elementsOf(element).length > 0 || !element.firstChild) return undefined;
  const words = (element.textContent ?? '').replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return words === '' ? undefined : [...words.slice(0, 200)].filter((character) => !/^[\ud800-\udfff]$/.test(character)).join('');
}

function noteIgnored(reading: Reading, { entity, descriptor, ancestors, descriptorPath }: FoundDescriptor): void {
  if (children(descriptor, ns.md, 'AttributeConsumingService').length > 0)
    reading.note(`${descriptorPath}/AttributeConsumingService`, 'it is not used: `attributes` says what is released');
  if ([...ancestors, entity].some((element) => children(element, ns.ds, 'Signature').length > 0))
    reading.note('Signature', 'signatures of metadata are not verified');
}
