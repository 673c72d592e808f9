/** Errors of service providers and of their metadata, and the faults that they list. */
import { defineErrors, IdpError } from '../../../lib/extension-door.js';

export const errors = defineErrors({
  metadata_unavailable: {
    status: 422,
    description: 'The metadata could not be fetched. Use a public URL that answers 200 with at most 512 KB within 5 seconds.',
  },
  metadata_invalid: {
    status: 422,
    description: 'The metadata does not describe a service provider that can be registered. Correct the places in `errors`.',
  },
  metadata_url_missing: {
    status: 422,
    description: 'The service provider has no `metadataUrl` to read its metadata from. Set `metadataUrl`, or send the metadata.',
  },
  impersonation_operator_required: {
    status: 403,
    description:
      'Only a client that administers all tenants may let impersonators sign in to a service provider. Leave `impersonation` out, or use such a client.',
  },
});

/** Path that faults have if the metadata was read from its URL. */
export const METADATA_URL = '/metadataUrl';

/** An invalid place, and what it must be. */
export interface Fault {
  /** JSON pointer in a record, or name of the element in metadata. */
  readonly path: string;
  readonly expected: string;
}

/** Refuses a record that has faults. @throws IdpError `invalid_record` with all faults, if there are any */
export function refuse(faults: readonly Fault[]): void {
  const [first] = faults;
  if (first) throw new IdpError('invalid_record', { ...first, problems: faults });
}

/** Returns an error in one line, which the record of the service provider stores. */
export function reasonOf(error: IdpError): string {
  const { problems, path, expected, reason } = error.details as Partial<Fault> & {
    readonly problems?: readonly Fault[];
    readonly reason?: string;
  };
  const faults = problems ?? (path === undefined ? [] : [{ path, expected: expected ?? '' }]);
  const text = faults.map((fault) => (fault.path === METADATA_URL ? fault.expected : `${fault.path}: ${fault.expected}`)).join('; ');
  return `${error.code}: ${text || reason || error.message}`.slice(0, 1000);
}
