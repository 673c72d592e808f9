import { defineErrors, IdpError } from '../../lib/extension-door.js';

export const errors = defineErrors({
  method_not_allowed: { status: 405, description: 'The resource does not have this method. Use a method that `Allow` lists.' },
  precondition_failed: {
    status: 412,
    description: 'The record is not in the state that `If-Match` names. Read the record again, and send its new `ETag`.',
  },
  body_too_large: { status: 413, description: 'The body is larger than 64 KiB. Send less in one request.' },
  idempotency_conflict: { status: 422, description: 'The `Idempotency-Key` was used for another request. Send another key.' },
  idempotency_in_progress: {
    status: 409,
    description: 'A request with this `Idempotency-Key` is under way. Send it again after the seconds in `Retry-After`.',
  },
  all_tenants_required: { status: 403, description: 'Only a client that administers all tenants may do this. Use such a client.' },
  grant_exceeds_own: {
    status: 403,
    description: 'The change requires permissions that the caller does not hold. Ask an administrator who holds these permissions.',
  },
  email_unproven: {
    status: 403,
    description:
      'Only a client that administers all tenants may say that an address is verified. Leave `emailVerified` out, and the user verifies the address by a mailed link.',
  },
  phone_unproven: {
    status: 403,
    description: 'Only a client that administers all tenants may say that a phone number is verified. Leave `phoneNumberVerified` out.',
  },
  means_unconfirmed: {
    status: 409,
    description:
      'Administrators who did not hold the permissions wrote what `means` lists, or made it possible. Check each entry, and send `confirm: true`.',
  },
  policy_privileged: {
    status: 403,
    description:
      'Users who sign in under this policy, or accounts that are linked to them, may do more in the admin API than the caller. Ask an administrator who may do as much.',
  },
  rate_limited: { status: 429, description: 'The client sends too many requests. Try again after the seconds in `Retry-After`.' },
});

/** The answer about a malformed record that the path names: 409 and not 500, because the caller can repair or remove the record. */
export const unreadableEntry = {
  status: 409,
  description: 'The record is malformed at the place in `errors`. Write valid values for its malformed members, or remove the record.',
};
export const recordUnreadable = (details: Readonly<Record<string, unknown>>, options?: ErrorOptions): IdpError =>
  new IdpError('record_unreadable', details, options, unreadableEntry);

/**
 * Returns the error with the invalid places of the body as `errors`, each with a `pointer`.
 * @see RFC 6901, RFC 9457 §3
 */
export function withPointers(error: unknown): unknown {
  if (!(error instanceof IdpError)) return (error as { status?: unknown } | null)?.status === 413 ? errors('body_too_large') : error;
  const { path, expected, didYouMean, problems, ...details } = error.details as Partial<Place> & { readonly problems?: readonly Place[] };
  if (error.status >= 500 || path === undefined) return error;
  const places = (problems ?? [{ path, expected, didYouMean }]).map(({ path: pointer, ...place }) => ({ pointer, ...place }));
  const entry = { status: error.status, description: error.message };
  return new IdpError(error.code, { ...details, errors: places }, { cause: error }, entry);
}

interface Place {
  readonly path: string;
  readonly expected?: string | undefined;
  readonly didYouMean?: string | undefined;
}
