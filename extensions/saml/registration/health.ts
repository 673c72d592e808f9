/** Service providers that need somebody’s attention, though people go on signing in to them. */
import type { ExtensionContext, ExtensionProblem } from '../../../lib/extension-door.js';
import { serviceProviders } from '../service-providers/records.js';

/** Told at most, of each kind. */
const MOST = 100;

/** Those whose metadata cannot be read anew, whose metadata is over, or whose certificates are. */
export async function serviceProviderProblems({
  records: { collectionOfAllTenants },
  service: { now },
}: ExtensionContext): Promise<readonly ExtensionProblem[]> {
  const rows = collectionOfAllTenants(serviceProviders);
  const instant = new Date(now());
  const [failing, expired] = await Promise.all([
    rows.range({ index: 'byFailure', within: [], limit: MOST }),
    rows.range({ index: 'byExpiry', within: [], below: instant, limit: MOST }),
  ]);
  return [
    ...failing.map(({ id }) => ({ code: 'saml_metadata_failing', id })),
    ...expired.map(({ id, source }) => {
      const isMetadata = source?.validUntil !== undefined && Date.parse(source.validUntil) <= instant.getTime();
      return { code: isMetadata ? 'saml_metadata_over' : 'saml_certificate_over', id };
    }),
  ];
}
