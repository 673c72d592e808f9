/**
 * The operations of the admin API on records of the directory, signing keys and sign-ins of users: a file for each resource. `shape/` has the parts that
 * most resources share: the usual operations, their schemas and JSON Merge Patch.
 *
 * An operation declares its method, path, scope and schemas. `mount` handles routes, tokens, tenants, rate limits and `Idempotency-Key`. `lib/directory`
 * has the rules of records. Extensions contribute more operations.
 */
import type { ExtensionContext, Operation } from '../../../lib/extension-door.js';
import { consents } from './consents.js';
import { apiResources, clients } from './credentials.js';
import { exports } from './exports.js';
import { groups } from './groups.js';
import { signingKeys } from './keys.js';
import { links } from './links.js';
import { createMeansChecks } from './means.js';
import { permissions } from './permissions.js';
import { persons } from './persons.js';
import { sessions } from './sessions.js';
import { signIns } from './sign-ins.js';
import { subsidiaries } from './subsidiaries.js';
import { tenants } from './tenants.js';
import { users } from './users.js';

/** Returns the operations on records of the directory, signing keys and sign-ins of users. */
export function resources(context: ExtensionContext): readonly Operation[] {
  const means = createMeansChecks(context);
  return [
    ...tenants,
    ...subsidiaries,
    ...persons,
    ...exports,
    ...users(means),
    ...means.operations,
    ...links,
    ...sessions(context),
    ...consents,
    signIns,
    ...groups(means),
    ...permissions,
    ...clients(means),
    ...apiResources,
    ...signingKeys(context),
  ];
}
