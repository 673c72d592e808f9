/** Descriptions of service providers, as metadata gives them. */
import type { Fault } from '../service-providers/errors.js';
import type { ServiceProviderFields } from '../service-providers/records.js';

/** Members of a registration that metadata can give. */
export const describedMembers = [
  ...(['name', 'assertionConsumerServices', 'singleLogoutServices', 'signingCertificates', 'requireSignedRequests'] as const),
  ...(['encryptionCertificate', 'encryption', 'nameId'] as const),
];
export type DescribedMember = (typeof describedMembers)[number];
export const isDescribed = (member: string): member is DescribedMember => (describedMembers as readonly string[]).includes(member);

/** An invalid part of a document that is left out. */
export interface Warning {
  /** Path of the part: `SPSSODescriptor[0]/AssertionConsumerService[1]/@Location`. */
  readonly path: string;
  /** Why the part is left out. Never contains the value. */
  readonly reason: string;
}

export interface ServiceProviderDescription {
  readonly entityId: string;
  readonly members: Partial<Pick<ServiceProviderFields, DescribedMember>>;
  /** Whether the service provider accepts only signed assertions. @see SAML Metadata §2.4.4 `WantAssertionsSigned` */
  readonly wantsSignedAssertions: boolean;
  /** Earliest `validUntil` of the elements, ISO 8601. */
  readonly validUntil?: string;
  /** Parts of the metadata that have no effect here. */
  readonly notes: readonly string[];
  /** Invalid parts that are left out, because nothing needs them. */
  readonly warnings: readonly Warning[];
}

/** Thrown for metadata that no service provider can be registered with. `path` names the element: `SPSSODescriptor[0]/AssertionConsumerService[1]`. */
export class UnusableMetadata extends Error {
  override readonly name = 'UnusableMetadata';

  constructor(readonly faults: readonly Fault[]) {
    super(faults.map(({ path, expected }) => `${path}: expected ${expected}`).join('; '));
  }
}
