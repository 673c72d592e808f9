import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../lib/errors.js';
import { developmentNotice } from '../../lib/options/insecure.js';
import { resolveOptions } from '../../lib/options/resolve.js';
import { productionOptions, storeLike } from './production-options.js';

const production = { NODE_ENV: 'production' };
const complete = productionOptions();

/** Insecure defaults, one in each case: the changed options, and the paths that the refusal names. */
const matrix: readonly (readonly [string, object, readonly string[]])[] = [
  ['an http issuer', { issuer: 'http://login.example.com' }, ['issuer']],
  ['an http issuer on this machine', { issuer: 'http://localhost:3000' }, ['issuer']],
  ['no artifact store', { artifacts: undefined }, ['artifacts']],
  ['an artifact store in memory', { artifacts: storeLike(true) }, ['artifacts']],
  ['no directory store', { directory: undefined }, ['directory']],
  ['a directory store in memory', { directory: storeLike(true) }, ['directory']],
  ['no encryption key', { keys: { signing: complete.keys.signing } }, ['keys.encryption']],
  ['no keys', { keys: undefined }, ['keys.signing', 'keys.encryption']],
  [
    'signing keys that are made and not kept',
    { keys: { encryption: complete.keys.encryption }, directory: storeLike(true) },
    ['directory', 'keys.signing'],
  ],
  ['no word about proxies', { trustProxy: undefined }, ['trustProxy']],
  [
    'short secrets in the seed',
    {
      seed: {
        clients: [{ secret: 's'.repeat(31) }, { secret: 's'.repeat(32) }, {}],
        apiResources: [{ secret: 's'.repeat(32) }, { secret: '' }],
      },
    },
    ['seed.clients[0].secret', 'seed.apiResources[1].secret'],
  ],
  ['password hashes that cost little', { passwords: { scryptCost: 2 ** 13 } }, ['passwords.scryptCost']],
  ['no cookie keys', { cookies: {} }, ['cookies.keys']],
  [
    'passwords in the seed',
    {
      seed: {
        persons: [{ user: { devPassword: 'a' } }, {}, { user: { devPassword: '' } }],
        tenants: { a: { devPassword: null } },
      },
    },
    ['seed.persons[0].user.devPassword', 'seed.persons[2].user.devPassword', 'seed.tenants.a.devPassword'],
  ],
];

describe('design 1, security K3: production refuses insecure defaults', () => {
  it('accepts what is complete, and has no notice for it', () => {
    const seed = { persons: [{ user: { userName: 'a', devPassword: undefined } }] };
    const resolved = resolveOptions({ ...complete, seed }, production);
    expect(resolved.production).toBe(true);
    expect(developmentNotice(resolved)).toBeUndefined();
  });

  it.each([false, true, 0, 2, () => '192.0.2.1'])('accepts trustProxy %s', (trustProxy) => {
    expect(resolveOptions({ ...complete, trustProxy }, production).production).toBe(true);
  });

  it('accepts signing keys that are made and kept, and has no notice for them', () => {
    const resolved = resolveOptions({ ...complete, keys: { encryption: complete.keys.encryption } }, production);
    expect(resolved.keys.signing).toBeUndefined();
    expect(developmentNotice(resolved)).toBeUndefined();
  });

  it.each(matrix)('refuses %s', (_name, change, paths) => {
    let error: unknown;
    try {
      resolveOptions({ ...complete, ...change }, production);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: 'insecure_options' });
    expect((error as ConfigError).problems.map(({ path }) => path)).toEqual(paths);
  });

  it.each(matrix)('elsewhere accepts %s', (_name, change) => {
    for (const env of [{}, { NODE_ENV: 'development' }, { NODE_ENV: 'test' }]) {
      expect(resolveOptions({ ...complete, ...change }, env).production).toBe(false);
    }
  });

  it('tells all of them at once', () => {
    expect(() =>
      resolveOptions({ issuer: 'http://localhost:3000', seed: { persons: [{ user: { devPassword: 'alice' } }] } }, production),
    ).toThrow(
      new Error(
        [
          'The options are not fit for production, so the service does not start. Change each member that is named. [insecure_options]',
          '  issuer: expected an https URL, such as \'https://id.example\' (in production), got "http://localhost:3000"',
          '  artifacts: expected a durable store in place of the one in memory (in production)',
          '  directory: expected a durable store in place of the one in memory (in production)',
          '  keys.signing: expected private signing keys as JWKs, or a durable directory with keys.encryption for the keys that the service creates (in production)',
          '  keys.encryption: expected one or more secrets of at least 32 characters, such as the output of openssl rand -base64 32 (in production)',
          '  cookies.keys: expected one or more secrets of at least 32 characters, such as the output of openssl rand -base64 32 (in production)',
          '  trustProxy: expected false without a proxy, or the number of proxies in front, because sign-in is throttled by address (in production)',
          '  seed.persons[0].user.devPassword: expected nothing, because a password for development is refused: send the user an invitation (in production), got [redacted]',
        ].join('\n'),
      ),
    );
  });
});

describe('design 1: one boxed notice in development', () => {
  it('says all that a restart will lose', () => {
    const notice = developmentNotice(resolveOptions({ issuer: 'http://localhost:3000' }, {})) ?? '';
    for (const path of ['artifacts', 'directory', 'keys.signing', 'keys.encryption', 'cookies.keys']) {
      expect(notice).toContain(`│ ${path} `);
    }
    const lines = notice.split('\n');
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
    expect(lines.map((line) => `${line.at(0)}${line.at(-1)}`).join(' ')).toMatch(/^┌┐( ││)+ └┘$/);
  });

  it('leaves out what is kept', () => {
    const notice = developmentNotice(resolveOptions({ ...complete, artifacts: storeLike(true) }, {})) ?? '';
    expect(notice).toContain('│ artifacts ');
    expect(notice).not.toMatch(/directory|keys/);
  });
});
