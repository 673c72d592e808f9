/**
 * Decoupled sign-in (CIBA): an application asks for a person, who approves on a device of their own.
 * @see OpenID Connect Client-Initiated Backchannel Authentication Flow, Core 1.0
 */
import type { Extension } from '../../lib/extension-door.js';
import { createCibaGrant } from './grant.js';
import { bookKind } from './requests/book.js';
import { requestKind } from './requests/record.js';
import { GRANT_TYPE } from './requests/requests.js';

export const ciba = (): Extension => ({
  name: 'ciba',
  artifacts: [requestKind, bookKind],
  grantTypes: { [GRANT_TYPE]: createCibaGrant },
});
