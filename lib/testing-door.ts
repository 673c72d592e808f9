/** Public entry point for tests of a host: `tenant-idp/testing`. */
export { type ClaimsRequest, resolveClaims } from './testing/resolve-claims.js';
export { type SignInTarget, signIn, type TestSignIn, type TestTokens } from './testing/sign-in.js';
