import { defineClaims } from '../../lib/extension-door.js';

/** A scope that clients may ask for and that grants nothing. */
export const addressClaims = defineClaims({ name: 'address', scopes: ['address'], claims: {} });
