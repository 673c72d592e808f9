import { defineClaims } from '../../lib/extension-door.js';

/** Scope that clients may request and that grants nothing. */
export const addressClaims = defineClaims({ name: 'address', scopes: ['address'], claims: {} });
