/** The shape of the options, checked as a whole. */

import { locales } from '../display/locales.js';
import type { ConfigProblem } from '../errors.js';
import { DAY_SECONDS, lifetimeBounds } from '../times/lifetime-bounds.js';
import { both, callback, closed, flag, list, listOfNamed, mapOf, oneOf, only, record, text, wholeNumber, withMembers } from './checks.js';
import type * as options from './options.js';
import * as values from './values.js';

const seconds = (minimum: number, maximum: number) => wholeNumber('whole seconds', minimum, maximum);
const count = (minimum: number, maximum: number) => wholeNumber('a whole number', minimum, maximum);
const secret = (minLength: number) => text(`a string of at least ${minLength} characters`, minLength);
/** The option `mail.send` as one would write it. */
const SEND = 'async (message) => …';
const secrets = () => list(secret(32), 'an array of one or more secrets of at least 32 characters, newest first', { min: 1 });

export const optionsShape = closed<options.IdentityProviderOptions>(
  {
    issuer: only(values.checkIssuer, true),
    artifacts: withMembers(
      'an ArtifactStore',
      'name',
      'ephemeral',
      'read()',
      'commit()',
      'listByAccount()',
      'hit()',
      'lease()',
      'health()',
      'close()',
    ),
    directory: withMembers('a DirectoryStore', 'name', 'ephemeral', 'open()', 'collection()', 'health()', 'close()'),
    seed: record("an object, such as { tenants: [{ name: 'Acme' }] }"),
    keys: closed<options.KeyOptions>({
      signing: list(
        both(record('a private JWK, as exportJWK of jose returns it'), only(values.checkSigningKey)),
        'an array of one or more private JWKs, as exportJWK of jose returns them',
        { min: 1 },
      ),
      rotation: closed<options.RotationOptions>({
        active: seconds(3600, 365 * DAY_SECONDS),
        announced: seconds(60, 30 * DAY_SECONDS),
        retiring: seconds(60, 365 * DAY_SECONDS),
      }),
      encryption: secrets(),
    }),
    cookies: closed<options.CookieOptions>({ keys: secrets(), prefix: only(values.checkCookiePrefix, true) }),
    subjectSalt: secret(16),
    trustProxy: only(values.checkTrustProxy),
    assertionAudience: oneOf('issuer', 'token-endpoint'),
    paths: closed<options.PathOptions>({ own: only(values.checkOwnPath, true) }),
    claims: listOfNamed("an array of claim sets, such as [{ name: 'hr', claims: {} }]"),
    claimMapping: mapOf(only(values.checkClaimScope), "an object of scopes by claim name, such as { department: 'hr' }"),
    oid: oneOf('linked', 'always'),
    email: oneOf('all', 'first'),
    fapi: oneOf('2.0'),
    initialsAsPicture: flag(),
    extensions: listOfNamed("an array of extensions, such as [{ name: 'shop' }]"),
    logger: withMembers('a logger', 'debug()', 'info()', 'warn()', 'error()'),
    lifetimes: closed<options.LifetimeOptions>({
      code: seconds(1, 600),
      interaction: seconds(1, DAY_SECONDS),
      accessToken: seconds(...lifetimeBounds.accessToken),
      jwtAccessToken: seconds(...lifetimeBounds.accessToken),
      idToken: seconds(...lifetimeBounds.idToken),
      refreshTokenIdle: seconds(...lifetimeBounds.refreshTokenIdle),
      refreshTokenAbsolute: seconds(...lifetimeBounds.refreshTokenAbsolute),
      refreshTokenGrace: seconds(...lifetimeBounds.refreshTokenGrace),
      sessionIdle: seconds(1, 30 * DAY_SECONDS),
      sessionAbsolute: seconds(1, 30 * DAY_SECONDS),
      invitation: seconds(60, 30 * DAY_SECONDS),
      passwordReset: seconds(60, DAY_SECONDS),
      emailProof: seconds(60, 30 * DAY_SECONDS),
      impersonation: seconds(60, 3600),
      authenticationRequest: seconds(...lifetimeBounds.authenticationRequest),
      events: seconds(DAY_SECONDS, 36_500 * DAY_SECONDS),
    }),
    limits: closed<options.LimitOptions>({
      signInFailures: count(1, 100),
      signInWindow: seconds(60, DAY_SECONDS),
      signInFailuresPerAccount: count(1, 100),
      signInFailuresPerAddress: count(1, 100_000),
      adminRequestsPerMinute: count(1, 1_000_000),
      authenticationRequestsPerMinute: count(1, 1_000_000),
      requestsAtOnce: count(10, 100_000),
      requestsAtOncePerConnection: count(1, 1000),
    }),
    mail: closed<options.MailOptions>({ send: callback(SEND) }, { send: `a function: ${SEND}` }),
    impersonation: closed<options.ImpersonationOptions>(
      { permission: only(values.checkPermissionId, true), notify: flag() },
      { permission: "the id of a permission, such as 'impersonate'" },
    ),
    personalTenant: only(values.checkTenantId, true),
    ciba: closed<options.CibaOptions>({ notify: callback('async (notification, signal) => …'), email: flag() }),
    outgoing: closed<options.OutgoingOptions>({
      allowHosts: list(only(values.checkHost, true), "an array of hosts, such as ['hooks.example:8443']"),
    }),
    passwords: closed<options.PasswordOptions>({
      algorithm: both(oneOf('scrypt', 'argon2id'), only(values.checkPasswordAlgorithm, true)),
      scryptCost: both(count(2 ** 4, 2 ** 17), only(values.checkPowerOfTwo, true)),
      weak: only(values.checkRefusedPasswords),
      leaked: only(values.checkRefusedPasswords),
    }),
    branding: closed<options.BrandingOptions>({
      logoUri: only(values.checkImage, true),
      faviconUri: only(values.checkImage, true),
      accentColor: only(values.checkAccent, true),
      radius: wholeNumber('whole pixels', 0, 24),
      font: oneOf('system', 'humanist', 'rounded', 'serif'),
    }),
    locales: list(oneOf(...locales), `an array of different languages, at least one of ${locales.join(', ')}`, { min: 1, isUnique: true }),
    features: record('an object of features, such as { dPoP: { enabled: true } }'),
    configure: callback('(configuration) => configuration'),
    onProvider: callback('(provider) => …'),
  },
  { issuer: values.ISSUER },
);

/** Every place where the options do not have the shape; at most one problem for each. */
export const findShapeProblems = (input: unknown): readonly ConfigProblem[] => optionsShape(input, []);
