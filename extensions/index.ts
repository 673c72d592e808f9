/**
 * Standard extensions, which use the same contract as the extensions of a host:
 * - the sign-in pages and the account page
 * - invitations, passwords, linked accounts and second factors
 * - impersonation
 * - connections to other OpenID providers, and decoupled sign-in
 * - the frame of session management
 * - introspection as signed JWTs, and scope introspection
 * - the admin API, the event feed and webhooks
 *
 * The standard claims are plugins, as a host's claims are.
 */
import type { Extension } from '../lib/extension-door.js';
import { account } from './account/index.js';
import { admin } from './admin/index.js';
import { checkSession } from './check-session/index.js';
import { ciba } from './ciba/index.js';
import { connections } from './connections/index.js';
import { events } from './events/index.js';
import { factors } from './factors/index.js';
import { impersonation } from './impersonation/index.js';
import { invitations } from './invitations/index.js';
import { jwtIntrospection } from './jwt-introspection/index.js';
import { linkedAccounts } from './linked-accounts/index.js';
import { passwords } from './passwords/index.js';
import { scopeIntrospection } from './scope-introspection/index.js';
import { signIn } from './sign-in/index.js';

export { cibaFor } from './ciba/index.js';
export { standardClaims } from './claims/index.js';
export { introspectScopesFor } from './scope-introspection/index.js';

export const standardExtensions = (): readonly Extension[] => [
  signIn(),
  checkSession(),
  jwtIntrospection(),
  scopeIntrospection(),
  admin(),
  events(),
  invitations(),
  passwords(),
  linkedAccounts(),
  connections(),
  factors(),
  impersonation(),
  ciba(),
  account(),
];
