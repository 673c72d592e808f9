/** Default claims, in the specification's order. The protocol sets `sub` and `tid`. */
import type { ClaimSet } from '../../lib/extension-door.js';
import { addressClaims } from './address.js';
import { type EmailOptions, emailClaims } from './email.js';
import { orgClaims } from './org.js';
import { permsClaims } from './perms.js';
import { phoneClaims } from './phone.js';
import { type ProfileOptions, profileClaims } from './profile.js';
import { rolesClaims } from './roles.js';

export const standardClaims = (options: ProfileOptions & EmailOptions): readonly ClaimSet[] => [
  profileClaims(options),
  emailClaims(options),
  phoneClaims,
  orgClaims,
  rolesClaims,
  permsClaims,
  addressClaims,
];
