import { test } from '@jest/globals';
import { expectInOrder } from './pinned.js';

test('a proof is validated once for each request, and counted as used apart from it', () => {
  expectInOrder(
    'helpers/validate_dpop.js',
    'export async function checkDpopReplay(provider, ctx, dPoP, clientId,',
    'provider.ReplayDetection.unique(',
    'export default async function validateDpop(provider, ctx, accessToken)',
    'return undefined;',
    'const result = { thumbprint, jti: payload.jti, iat: payload.iat };',
  );
  expectInOrder(
    'actions/grants/authorization_code.js',
    "presence(ctx, 'code', 'redirect_uri');",
    'await validateDpop(ctx)',
    'findGrantSource',
  );
});
