/**
 * NameIDs that the administrators of a tenant decide. At a service provider of all tenants, users of two tenants may have the same NameID, and each could sign
 * in as the other.
 */
import type { ServiceProviderFields } from './records.js';

type NameIdOfRecord = Pick<ServiceProviderFields['nameId'], 'format' | 'claim'>;

/** Whether the NameID is unique only among users of one tenant. */
export const isUniqueInTenant = ({ format, claim }: NameIdOfRecord): boolean =>
  format === 'emailAddress' || (format === 'unspecified' && claim !== 'sub' && claim !== 'oid');

/** Alternatives to `allowedTenants` for an administrator who wants such a NameID at the instance's entity. */
export const otherWaysToUniqueNames =
  "register it at a tenant's entity (POST /tenants/{tid}/saml-service-providers; option tenantEntities), or set nameId.format to persistent (option subjectSalt)";
