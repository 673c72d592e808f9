import type { Extension } from 'tenant-idp/extension';
import { epochSeconds } from '../time/epoch-seconds.js';

export const USER_GRANT = 'urn:example:user';
/** A grant type that signs in the user of the parameter `user`. */
export const userGrant: Extension = {
  name: 'users',
  grantTypes: {
    [USER_GRANT]: () => ({
      parameters: ['user'],
      exchange: async ({ parameters: { user = '' } }) => ({
        oid: user,
        scopes: ['openid'],
        amr: ['pwd'],
        idp: 'local',
        authTime: epochSeconds(),
      }),
    }),
  },
};
