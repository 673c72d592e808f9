import * as crypto from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ConfigError, type ConfigProblem } from '../../lib/errors.js';
import { defaults } from '../../lib/options/defaults.js';
import { resolveOptions } from '../../lib/options/resolve.js';
import { ecKey, productionOptions, rsaKey, storeLike } from './production-options.js';

const issuer = 'http://localhost:3000';
const rsa = rsaKey();
const ec = ecKey();

function refusal(options: unknown, env: NodeJS.ProcessEnv = {}): ConfigError {
  try {
    resolveOptions(options, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the options were accepted');
}
const problems = (options: object): readonly ConfigProblem[] => refusal({ issuer, ...options }).problems;

describe('design 1: everything wrong is told at once', () => {
  it('reads well', () => {
    const error = refusal({
      isuer: issuer,
      keys: { encryption: ['too short'] },
      lifetimes: { code: 3600, sessionIdle: 50_000, idtoken: 60 },
      extensions: [{ name: 'saml' }, { name: 'saml' }],
      locales: ['en', 'fr'],
      claimMapping: { 'cost center': '' },
    });
    expect(error.code).toBe('invalid_options');
    expect(error.message).toBe(
      [
        'The options of createIdentityProvider are invalid, so the service does not start. Correct each member that is named. [invalid_options]',
        "  issuer: expected an absolute http(s) URL, such as 'https://id.example'",
        "  isuer: expected an option that exists (did you mean 'issuer'?)",
        '  keys.encryption[0]: expected a string of at least 32 characters, got [redacted]',
        '  claimMapping["cost center"]: expected the name of a scope, such as \'hr\', or false, got a string',
        "  lifetimes.idtoken: expected an option that exists (did you mean 'idToken'?)",
        '  lifetimes.code: expected whole seconds from 1 to 600, got 3600',
        `  locales[1]: expected one of 'en', 'nb', 'sv', 'da', 'fi', 'de', got "fr"`,
        '  extensions[1].name: expected a name that extensions[0] does not have, got "saml"',
        '  lifetimes.sessionIdle: expected at most lifetimes.sessionAbsolute, 43200, got 50000',
      ].join('\n'),
    );
  });

  it('tells one problem for each place', () => {
    const { problems: found } = refusal({
      issuer: 5,
      trustProxy: 'x',
      keys: { signing: ['x', 5, undefined] },
    });
    const paths = found.map(({ path }) => path);
    expect(paths.toSorted()).toEqual(['issuer', 'keys.signing[0]', 'keys.signing[1]', 'keys.signing[2]', 'trustProxy']);
  });

  it.each([undefined, null, 'text', 5, [], () => {}])('refuses %p for options', (options) => {
    expect(refusal(options).problems.map(({ path }) => path)).toEqual(['options']);
  });

  it('tells insecure values along with wrong ones in production', () => {
    const error = refusal({ ...productionOptions(), cookies: {}, lifetimes: { code: 0 } }, { NODE_ENV: 'production' });
    expect(error.code).toBe('invalid_options');
    expect(error.problems.map(({ path }) => path)).toEqual(['lifetimes.code', 'cookies.keys']);
  });
});

describe('design 1: unknown keys', () => {
  it.each([
    ['cookie', 'cookies', { cookie: {} }],
    ['trustproxy', 'trustProxy', { trustproxy: true }],
    ['keys.encription', 'encryption', { keys: { encription: [] } }],
    ['lifetimes.refreshIdle', 'refreshTokenIdle', { lifetimes: { refreshIdle: 5 } }],
    ['paths.owm', 'own', { paths: { owm: '/x' } }],
  ])('%s: did you mean %s?', (path, didYouMean, options) => {
    expect(problems(options)).toEqual([{ path, expected: 'an option that exists', didYouMean }]);
  });

  it.each([{ adapter: {} }, { paths: { xyz: '' } }])('guesses nothing far-fetched for %p', (options) => {
    expect(problems(options)).toEqual([expect.not.objectContaining({ didYouMean: expect.anything() })]);
  });

  it('guesses values too', () => {
    expect(problems({ passwords: { algorithm: 'argon2' } })).toMatchObject([{ didYouMean: 'argon2id' }]);
  });
});

describe('design 1: the issuer', () => {
  it.each([
    ['login.example.com', "an absolute http(s) URL, such as 'https://id.example'"],
    ['ftp://login.example.com', "an absolute http(s) URL, such as 'https://id.example'"],
    ['', "an absolute http(s) URL, such as 'https://id.example'"],
    ['https://login.example.com/', 'a URL without trailing slash, "https://login.example.com"'],
    ['https://login.example.com/idp/', 'a URL without trailing slash, "https://login.example.com/idp"'],
    ['https://login.example.com/idp?', "a URL without query and fragment, such as 'https://id.example'"],
    ['https://login.example.com?a=b', "a URL without query and fragment, such as 'https://id.example'"],
    ['https://login.example.com/#', "a URL without query and fragment, such as 'https://id.example'"],
    ['https://me:pw@login.example.com', "a URL without user name and password, such as 'https://id.example'"],
    ['https://LOGIN.example.com:443/a/../b', 'the URL in its normal form, "https://login.example.com/b"'],
    [' https://login.example.com', 'the URL in its normal form, "https://login.example.com"'],
  ])('%p: expected %s', (value, expected) => {
    expect(problems({ issuer: value })).toMatchObject([{ path: 'issuer', expected }]);
  });

  it.each([
    ['http://localhost:3000', false, ''],
    ['https://login.example.com', true, ''],
    ['https://example.com/a/idp', true, '/a/idp'],
  ])('%s: secure %p, mounted at %p', (value, secure, mountPath) => {
    expect(resolveOptions({ issuer: value }, {})).toMatchObject({
      issuer: value,
      secure,
      mountPath,
      production: false,
    });
  });
});

describe('values', () => {
  it.each<[string, object]>([
    ['artifacts', { artifacts: { ...(storeLike(true) as object), hit: undefined } }],
    ['artifacts', { artifacts: Promise.resolve(storeLike(true)) }],
    ['directory', { directory: { open() {} } }],
    ['seed', { seed: [] }],
    ['keys', { keys: [] }],
    ['keys.signing', { keys: { signing: [] } }],
    ['keys.encryption', { keys: { encryption: [] } }],
    ['keys.rotation.active', { keys: { rotation: { active: '90 days' } } }],
    ['keys.rotation.active', { keys: { rotation: { active: 60, announced: 60 } } }],
    ['keys.rotation.announced', { keys: { rotation: { announced: 0 } } }],
    ['keys.rotation.announced', { keys: { rotation: { active: 3600, announced: 3601 } } }],
    ['keys.rotation.announced', { keys: { rotation: { active: 3600 } } }],
    ['keys.rotation.retiring', { keys: { rotation: { retiring: 43_199 } } }],
    [
      'keys.rotation.retiring',
      { keys: { rotation: { retiring: 7200 } }, lifetimes: { sessionAbsolute: 600, sessionIdle: 60, idToken: 7201 } },
    ],
    ['keys.rotation.retire', { keys: { rotation: { retire: 86_400 } } }],
    ['keys.encryption[1]', { keys: { encryption: ['e'.repeat(32), 'e'.repeat(31)] } }],
    ['cookies.keys', { cookies: { keys: 'c'.repeat(32) } }],
    ['cookies.keys[0]', { cookies: { keys: [undefined] } }],
    ['subjectSalt', { subjectSalt: 's'.repeat(15) }],
    ['trustProxy', { trustProxy: 'loopback' }],
    ['trustProxy', { trustProxy: -1 }],
    ['trustProxy', { trustProxy: 1.5 }],
    ['paths.own', { paths: { own: '/' } }],
    ['paths.own', { paths: { own: 'idp' } }],
    ['paths.own', { paths: { own: '/idp/' } }],
    ['paths.own', { paths: { own: '/a/../b' } }],
    ['paths.own', { paths: { own: '/a b' } }],
    ['paths.own', { paths: { own: '/connect' } }],
    ['paths.own', { paths: { own: '/.well-known/idp' } }],
    ['claims[0]', { claims: ['hr'] }],
    ['claims[0].name', { claims: [{ name: '' }] }],
    ['claims[1].name', { claims: [{ name: 'hr' }, { name: 'hr' }] }],
    ['claimMapping.email', { claimMapping: { email: true } }],
    ['claimMapping.email', { claimMapping: { email: 'two scopes' } }],
    ['claimMapping.sub', { claimMapping: { sub: 'profile' } }],
    ['oid', { oid: 'never' }],
    ['assertionAudience', { assertionAudience: 'https://login.example.com/connect/token' }],
    ['extensions', { extensions: {} }],
    ['logger', { logger: { info() {} } }],
    ['lifetimes.accessToken', { lifetimes: { accessToken: '60' } }],
    ['lifetimes.accessToken', { lifetimes: { accessToken: 0.5 } }],
    ['lifetimes.accessToken', { lifetimes: { accessToken: 0 } }],
    ['lifetimes.accessToken', { lifetimes: { accessToken: Number.NaN } }],
    ['lifetimes.accessToken', { lifetimes: { accessToken: Number.POSITIVE_INFINITY } }],
    ['lifetimes.refreshTokenGrace', { lifetimes: { refreshTokenGrace: 61 } }],
    ['lifetimes.refreshTokenIdle', { lifetimes: { refreshTokenIdle: 100, refreshTokenAbsolute: 99 } }],
    ['limits.signInFailures', { limits: { signInFailures: 101 } }],
    ['outgoing.allowHosts', { outgoing: { allowHosts: 'localhost' } }],
    ['outgoing.allowHosts[0]', { outgoing: { allowHosts: ['https://internal.example.com'] } }],
    ['outgoing.allowHosts[1]', { outgoing: { allowHosts: ['internal.example.com:8443', 'Internal.example.com'] } }],
    ['sessions.address', { sessions: { address: 'half' } }],
    ['sessions.address', { sessions: { address: true } }],
    ['signInHistory.days', { signInHistory: { days: 401 } }],
    ['signInHistory.entries', { signInHistory: { entries: -1 } }],
    ['signInHistory.notify', { signInHistory: { notify: 'mail' } }],
    ['signInHistory.notify', { signInHistory: { notify: true } }],
    ['passwords.algorithm', { passwords: { algorithm: 'bcrypt' } }],
    ['passwords.scryptCost', { passwords: { scryptCost: 2 ** 18 } }],
    ['passwords.scryptCost', { passwords: { scryptCost: 20_000 } }],
    ['locales', { locales: [] }],
    ['locales', { locales: ['en', 'en'] }],
    ['features', { features: 'dpop' }],
    ['configure', { configure: {} }],
    ['onProvider', { onProvider: null }],
  ])('refuses a wrong %s %#', (path, options) => {
    expect(problems(options).map((found) => found.path)).toEqual([path]);
  });

  it.each<[object]>([
    [{ trustProxy: 0 }],
    [{ trustProxy: () => '192.0.2.1' }],
    [{ logger: console }],
    [{ paths: { own: '/login/idp' } }],
    [{ claimMapping: { email: false, cost_center: 'hr' } }],
    [{ lifetimes: { code: 1, refreshTokenGrace: 0 } }],
    [{ seed: {}, features: { dPoP: { enabled: true } }, configure: () => {}, onProvider: () => {} }],
    [{ artifacts: undefined, keys: undefined, lifetimes: undefined, claims: undefined, onProvider: undefined }],
  ])('accepts %p', (options) => {
    expect(() => resolveOptions({ issuer, ...options }, {})).not.toThrow();
  });

  it('argon2id is refused where Node lacks it (design 6)', () => {
    const options = { issuer, passwords: { algorithm: 'argon2id' } };
    if ('argon2' in crypto) expect(resolveOptions(options, {}).passwords.algorithm).toBe('argon2id');
    else expect(refusal(options).problems).toMatchObject([{ path: 'passwords.algorithm', received: '"argon2id"' }]);
  });
});

describe('signing keys (security K3)', () => {
  const { d: _d, ...publicEc } = ec;
  const { d: _e, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicRsa } = rsa;
  const key = 'a private key as a JWK, RSA (RS256) or P-256 (ES256)';
  it.each([
    ['a public RSA key', publicRsa, key],
    ['a public EC key', publicEc, key],
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0' }, key],
    ['PEM', '-----BEGIN PRIVATE KEY-----', key],
    ['a short RSA key', rsaKey(1024), 'an RSA key of at least 2048 bits, or one of P-256'],
    ['another curve', ecKey('P-384'), 'an RSA key of at least 2048 bits, or one of P-256'],
    ['another algorithm', { ...rsa, alg: 'PS256' }, 'a key whose alg is RS256, or absent'],
    ['another use', { ...rsa, use: 'enc' }, "a key whose use is 'sig', or absent"],
  ])('refuses %s', (_name, wrong, expected) => {
    expect(problems({ keys: { signing: [rsa, wrong] } })).toMatchObject([
      { path: 'keys.signing[1]', ...(typeof wrong === 'string' ? {} : { expected }), received: '[redacted]' },
    ]);
  });

  it.each([
    ['EC', { ...ec, d: ecKey().d }],
    ['RSA', { ...rsa, n: rsaKey().n }],
  ])('refuses an %s key whose halves do not belong together', (_name, wrong) => {
    expect(problems({ keys: { signing: [rsa, wrong] } })).toMatchObject([{ path: 'keys.signing[1]' }]);
  });

  it('refuses keys without RSA, and a kid given twice', () => {
    expect(problems({ keys: { signing: [ec] } })).toMatchObject([{ path: 'keys.signing' }]);
    const signing = [{ ...rsa, kid: 'a' }, ec, { ...ec, kid: 'a' }];
    expect(problems({ keys: { signing } })).toMatchObject([{ path: 'keys.signing[2].kid', received: '[redacted]' }]);
  });

  it('says in each what it is for', () => {
    const { keys } = resolveOptions({ issuer, keys: { signing: [rsa, ec] } }, {});
    expect(keys.signing).toMatchObject([
      { kty: 'RSA', alg: 'RS256', use: 'sig' },
      { kty: 'EC', alg: 'ES256', use: 'sig' },
    ]);
  });
});

describe('what comes out', () => {
  it('has the defaults of design 10', () => {
    // Options that are not named here are compared with their comments and with docs/reference/options.md.
    expect(resolveOptions({ issuer }, {})).toMatchObject({
      issuer,
      isAnsweredHere: true,
      production: false,
      secure: false,
      mountPath: '',
      keys: { rotation: { active: 90 * 24 * 60 * 60, announced: 24 * 60 * 60, retiring: 30 * 24 * 60 * 60 } },
      cookies: { prefix: '' },
      trustProxy: 0,
      ciba: { email: false },
      assertionAudience: 'issuer',
      branding: { accentColor: '#4450b8', radius: 10, font: 'system' },
      paths: { own: '/idp', changePassword: true },
      claims: [],
      claimMapping: {},
      oid: 'linked',
      email: 'all',
      initialsAsPicture: true,
      extensions: [],
      logger: defaults.logger,
      lifetimes: {
        code: 60,
        interaction: 30 * 60,
        accessToken: 60 * 60,
        jwtAccessToken: 10 * 60,
        idToken: 5 * 60,
        refreshTokenIdle: 15 * 24 * 60 * 60,
        refreshTokenAbsolute: 30 * 24 * 60 * 60,
        refreshTokenGrace: 10,
        sessionIdle: 60 * 60,
        sessionAbsolute: 12 * 60 * 60,
        invitation: 24 * 60 * 60,
        passwordReset: 60 * 60,
        authenticationRequest: 120,
        emailProof: 24 * 60 * 60,
        impersonation: 30 * 60,
        events: 365 * 24 * 60 * 60,
      },
      limits: {
        signInFailures: 10,
        signInWindow: 15 * 60,
        signInFailuresPerAccount: 100,
        signInFailuresPerAddress: 100,
        adminRequestsPerMinute: 600,
        authenticationRequestsPerMinute: 60,
        requestsAtOnce: 1000,
        requestsAtOncePerConnection: 10,
      },
      outgoing: { allowHosts: [] },
      sessions: { address: 'truncated' },
      signInHistory: { days: 90, entries: 30, notify: true },
      passwords: { algorithm: 'scrypt', scryptCost: 16_384 },
      locales: ['en', 'nb', 'sv', 'da', 'fi', 'de'],
      features: {},
    });
  });

  it('keeps what was given, and defaults beside it', () => {
    const given = {
      ...productionOptions(),
      trustProxy: true,
      lifetimes: { code: 30 },
      locales: ['nb', 'en'],
      oid: undefined,
    };
    const resolved = resolveOptions(given, { NODE_ENV: 'production' });
    expect(resolved).toMatchObject({
      artifacts: given.artifacts,
      production: true,
      secure: true,
      trustProxy: 1,
      oid: 'linked',
      lifetimes: { code: 30, idToken: 300 },
      locales: ['nb', 'en'],
      cookies: { prefix: '', ...given.cookies },
    });
  });

  it('shortens the default idle time to the absolute one', () => {
    const { lifetimes } = resolveOptions({ issuer, lifetimes: { refreshTokenAbsolute: 3600, sessionAbsolute: 600 } }, {});
    expect(lifetimes).toMatchObject({ refreshTokenIdle: 3600, sessionIdle: 600 });
  });

  it('does not change when the host changes its object, and cannot be changed', () => {
    const given = { issuer, cookies: { keys: ['c'.repeat(32)] }, lifetimes: { code: 30 } };
    const resolved = resolveOptions(given, {});
    given.cookies.keys.push('later');
    given.lifetimes.code = 1;
    expect(resolved).toMatchObject({ cookies: { keys: ['c'.repeat(32)] }, lifetimes: { code: 30 } });
    const frozen = [resolved, resolved.cookies, resolved.cookies.keys, resolved.lifetimes, resolved.locales, resolved.limits];
    expect(frozen.every(Object.isFrozen)).toBe(true);
  });
});
