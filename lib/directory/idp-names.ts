import { IdpError } from '../errors.js';
import type { DirectoryContext } from './context.js';
import { createNameSpace, type IdpNames, type NameLease } from './name-space.js';

export const createIdpNames = ({ collections, means }: Pick<DirectoryContext, 'collections' | 'means'>, lease: NameLease): IdpNames =>
  createNameSpace('idp', lease, {
    /** Reads the store, because caches may miss a write that timed out. An unreadable client counts as one with `trustedLoginHint`. */
    async connection(id) {
      const client = await collections.clients.get(id);
      if (client ? client.trustedLoginHint : await collections.clients.has(id)) throw new IdpError('conflict', { path: '/id' });
    },
    async client(id) {
      if (!(await means.offers(id))) return;
      const expected = 'false, because a sign-in method or a connection has the id of the client';
      throw new IdpError('invalid_record', { path: '/trustedLoginHint', expected });
    },
  });
