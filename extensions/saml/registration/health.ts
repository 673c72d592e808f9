/** Service providers that need attention, although users still sign in to them. */
import type { ExtensionContext, ExtensionProblem } from '../../../lib/extension-door.js';
import { serviceProviders } from '../service-providers/records.js';

/** Problems of each kind that are reported, at most. */
const MOST = 100;

/** Reports service providers whose metadata cannot be refreshed, or whose metadata or certificates have expired. */
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
