/** Internal clients of extensions. Internal clients sign users in by requests that the service makes itself, and get no tokens. */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { InternalClient, InternalClients as OfExtension } from '../../contract/sign-in/sign-in-request.js';
import { clientDefaults } from '../../directory/index.js';
import { createBounded } from '../../store/caches/bounded.js';
import type { Client } from '../../store/records/records.js';
import type { InternalClients } from '../context.js';

/** A secret that nobody knows, so that nobody can authenticate, or push a request, as an internal client. */
const unknownSecret = randomBytes(32).toString('base64url');
const never = new Date(0);
/** Maximum internal clients in memory. */
const MOST = 1000;

/** @param finders look-ups, by extension. */
export function createInternalClients(issuer: string, finders: () => ReadonlyMap<string, OfExtension>): InternalClients {
  const made = createBounded<{ readonly given: InternalClient; readonly record: Client }>({ max: MOST });
  const known = new WeakMap<object, InternalClient>();
  const finderOf = (id: string): OfExtension | undefined => finders().get(id.slice(0, Math.max(0, id.indexOf(':'))));
  /** Returns the same record until the internal client changes, because values derived from a client are stored by its record. */
  const recordOf = (id: string, given: InternalClient): Client => {
    const before = made.get(id);
    if (before && isDeepStrictEqual(before.given, given)) return before.record;
    const record = recordFor(issuer, id, given);
    made.set(id, { given, record });
    known.set(record, given);
    return record;
  };
  return {
    owns: (id) => finderOf(id) !== undefined,
    find(id) {
      const found = finderOf(id)?.find(id);
      return found instanceof Promise ? found.then((client) => client && recordOf(id, client)) : found && recordOf(id, found);
    },
    isInternal: (record) => record !== undefined && known.has(record),
    applicationOf: (record) => record && known.get(record),
    service: recordFor(issuer, issuer, { returnTo: '' }),
  };
}

const recordFor = (
  issuer: string,
  id: string,
  { name = new URL(issuer).host, returnTo, allowedTenants, styles, impersonation = 'refuse' }: InternalClient,
): Client => ({
  ...clientDefaults,
  id,
  version: 1,
  createdAt: never,
  updatedAt: never,
  name,
  metadata: {
    client_secret: unknownSecret,
    redirect_uris: [issuer + returnTo],
    response_types: ['none'],
    grant_types: [],
    require_pushed_authorization_requests: true,
  },
  secrets: [],
  allowedScopes: ['openid'],
  requirePkce: false,
  impersonation,
  ...(allowedTenants ? { allowedTenants } : {}),
  ...(styles ? { styles } : {}),
});
