/**
 * The operations of the admin API over the records of the directory, its signing keys, and the sign-ins of users: a file for each resource. `shape/` makes
 * what most of them share, the usual operations, their forms and JSON Merge Patch.
 *
 * An operation says its method, path, scope and forms. Routes, tokens, tenants, limits and `Idempotency-Key` are the business of `mount`, and rules over
 * records are those of `lib/directory`. Extensions have operations of their own beside these.
 */
import type { ExtensionContext, Operation } from '../../../lib/extension-door.js';
import { apiResources, clients } from './credentials.js';
import { exports } from './exports.js';
import { groups } from './groups.js';
import { signingKeys } from './keys.js';
import { links } from './links.js';
import { createMeansChecks } from './means.js';
import { permissions } from './permissions.js';
import { persons } from './persons.js';
import { sessions } from './sessions.js';
import { subsidiaries } from './subsidiaries.js';
import { tenants } from './tenants.js';
import { users } from './users.js';

/** The operations over the records of the directory, its keys, and the sign-ins of users. */
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
    ...groups(means),
    ...permissions,
    ...clients(means),
    ...apiResources,
    ...signingKeys(context),
  ];
}
