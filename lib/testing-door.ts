/** The public door to tests of a host's own plugins: `tenant-idp/testing`. */
export { type ClaimsRequest, resolveClaims } from './testing/resolve-claims.js';
