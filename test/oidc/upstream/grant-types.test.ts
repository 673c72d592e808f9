import { test } from '@jest/globals';
import { expectInOrder } from './pinned.js';

test('a grant type of ours takes the steps of one of its own', () => {
  expectInOrder(
    'actions/grants/ciba.js',
    'await validateDpop(ctx)',
    'checkMtlsCert(ctx)',
    'checkDpopRequired(ctx, dPoP)',
    "ctx.oidc.entity('Grant', grant);",
    'await issueTokens(provider, helpers, ctx, request, grant, {',
    'gty, entityLabel:',
    'cert, dPoP,',
  );
  expectInOrder('helpers/initialize_app.js', 'Object.entries(grantHelpers)', 'helper.bind(undefined, this)');
});

test('what is minted from is read by its members alone', () => {
  expectInOrder(
    'helpers/grant_common.js',
    'await validateAccount(provider, ctx, source, entityLabel)',
    'createAccessToken(provider, ctx, { ...source, accountId',
    'await resolveAndApplyResource(ctx, source, at, grant)',
    'await shouldIssueRefreshToken(provider, ctx, source)',
    'const scopes = scopeOverride || source.scopes;',
  );
});

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

test('the proof of an access token reads of its context the provider and the URL alone, and a certificate only that of the request', () => {
  expectInOrder(
    'helpers/validate_dpop.js',
    'ctx.oidc.clientAttestation?.method',
    "const proof = ctx.get('DPoP');",
    'dPoPConfig.requireNonce(ctx)',
    '{ algorithms: dPoPSigningAlgValues, typ:',
    'payload.htm !== ctx.method',
    'ctx.oidc.urlFor(ctx.oidc.route)',
    "crypto.hash('sha256', accessToken, 'base64url')",
  );
  expectInOrder(
    'shared/access_token.js',
    'const cert = getCertificate(ctx);',
    "accessToken['x5t#S256'] !== certificateThumbprint(cert)",
    'checkDpopReplay(ctx.oidc.provider, ctx, dPoP, accessToken.clientId',
    'accessToken.jkt !== dPoP.thumbprint',
  );
});
