/** Issue 17: SAML options are checked at start. All problems are reported together, each with its path. */
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import Module from 'node:module';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { ConfigError, createIdentityProvider } from 'tenant-idp';
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import { type TestKey, testKeyOf } from '../../support/saml/keys/test-keys.js';
import { silentLogger } from '../../support/service/test-directory.js';

let one: TestKey;
let two: TestKey;
beforeAll(async () => {
  [one, two] = (await Promise.all(['one', 'two'].map(testKeyOf))) as [TestKey, TestKey];
});

/** Returns the problems, as `path: expected`. */
async function problemsOf(options: unknown): Promise<readonly string[]> {
  try {
    const idp = await createIdentityProvider({
      issuer: 'http://localhost:3000',
      extensions: [saml(options as SamlOptions)],
      logger: silentLogger,
    });
    await idp.close();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toContain('PRIVATE');
    return error.problems.map(({ path, expected }) => `${path}: ${expected}`);
  }
}

const at = (member: string) => `extensions[0].keys[0].${member}`;
const pairOf = ({ key, certificate }: TestKey) => ({ key, certificate });

test('no option is required, and valid ones are accepted', async () => {
  expect(await problemsOf({})).toEqual([]);
  expect(
    await problemsOf({
      entityId: 'urn:example:idp',
      keys: [pairOf(one), pairOf(two)],
      tenantEntities: false,
      wantAuthnRequestsSigned: true,
      clockSkewSeconds: 0,
    }),
  ).toEqual([]);
});

test('all that is wrong is told at once', async () => {
  const wrong = { entityId: 'no uri', tenantEntities: 'no', wantAuthnRequestsSigned: 1, clockSkewSeconds: 601, signingKeys: [], keys: [] };
  expect(await problemsOf(wrong)).toEqual([
    "extensions[0].entityId: a URI of at most 1000 characters, such as 'https://id.example/saml'",
    'extensions[0].tenantEntities: true or false',
    'extensions[0].wantAuthnRequestsSigned: true or false',
    'extensions[0].clockSkewSeconds: a whole number of seconds, 0 to 600',
    'extensions[0].signingKeys: one of entityId, keys, tenantEntities, wantAuthnRequestsSigned, clockSkewSeconds',
    'extensions[0].keys: a list of keys with their certificates, the one that signs first: [{ key, certificate }]',
  ]);
});

describe('packages that make a certificate', () => {
  /** Resolves packages as if these were not installed. */
  const hidden = (names: readonly string[]) => {
    const internals = Module as unknown as { _resolveFilename(request: string, ...rest: unknown[]): string };
    const resolve = internals._resolveFilename;
    return jest.spyOn(internals, '_resolveFilename').mockImplementation((request, ...rest) => {
      if (names.includes(request)) throw new Error(`Cannot find module '${request}'`);
      return resolve.call(Module, request, ...rest);
    });
  };

  test.each([[['@peculiar/x509']], [['reflect-metadata']], [['@peculiar/x509', 'reflect-metadata']]])(
    '%j are named where they are missing',
    async (names) => {
      const spy = hidden(names);
      try {
        expect(await problemsOf({})).toEqual([
          `extensions[0].keys: a key with its certificate, or the packages that make one to be installed: ${names.join(', ')}`,
        ]);
        // The operator's own keys need none of the packages.
        expect(await problemsOf({ keys: [pairOf(one)] })).toEqual([]);
      } finally {
        spy.mockRestore();
      }
    },
  );
});

describe('keys of the operator', () => {
  const small = () => generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const elliptic = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const locked = () =>
    createPrivateKey(one.key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }) as string;

  test.each<[string, () => unknown, readonly string[]]>([
    [
      'nothing',
      () => null,
      [
        `${at('key')}: a private key as PEM, without a passphrase, such as the output of openssl genrsa 3072`,
        `${at('certificate')}: an X.509 certificate as PEM: -----BEGIN CERTIFICATE-----`,
      ],
    ],
    [
      'no key',
      () => ({ certificate: one.certificate }),
      [`${at('key')}: a private key as PEM, without a passphrase, such as the output of openssl genrsa 3072`],
    ],
    [
      'a key with a passphrase',
      () => ({ ...pairOf(one), key: locked() }),
      [`${at('key')}: a private key as PEM, without a passphrase, such as the output of openssl genrsa 3072`],
    ],
    [
      'a certificate in the place of the key',
      () => ({ key: one.certificate, certificate: one.certificate }),
      [`${at('key')}: a private key as PEM, without a passphrase, such as the output of openssl genrsa 3072`],
    ],
    ['no certificate', () => ({ key: one.key }), [`${at('certificate')}: an X.509 certificate as PEM: -----BEGIN CERTIFICATE-----`]],
    [
      'the certificate of another key',
      () => ({ ...pairOf(one), certificate: two.certificate }),
      [`${at('certificate')}: the certificate of the key of this pair: make both from one key pair`],
    ],
    [
      'a small key',
      () => ({ ...pairOf(one), key: small() }),
      [
        `${at('key')}: an RSA key of 2048 bits or more`,
        `${at('certificate')}: the certificate of the key of this pair: make both from one key pair`,
      ],
    ],
    [
      'an elliptic key',
      () => ({ ...pairOf(one), key: elliptic() }),
      [
        `${at('key')}: an RSA key of 2048 bits or more`,
        `${at('certificate')}: the certificate of the key of this pair: make both from one key pair`,
      ],
    ],
  ])('%s', async (_, pair, expected) => {
    expect(await problemsOf({ keys: [pair()] })).toEqual(expected);
  });

  test('the same certificate twice', async () => {
    expect(await problemsOf({ keys: [pairOf(one), pairOf(one)] })).toEqual([
      'extensions[0].keys[1].certificate: a certificate that no earlier pair has: remove this pair',
    ]);
  });

  test.each([
    ['a certificate that ended', 11 * 365, 'a certificate that has not expired; this one ended'],
    ['a certificate that has not begun', -1, 'a certificate that is valid already, because the first key signs; this one begins'],
  ])('%s', async (_, days, expected) => {
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + days * 86_400_000);
    try {
      expect(await problemsOf({ keys: [pairOf(one)] })).toEqual([expect.stringContaining(expected)]);
    } finally {
      clock.mockRestore();
    }
  });

  test.each([12, -12, 20, -20])(
    'L6: a node whose clock is %i s off takes a certificate that is valid by the time that all nodes share',
    async (ahead) => {
      const { validFrom, validTo } = new X509Certificate(pairOf(one).certificate);
      for (const at of [Date.parse(validFrom), Date.parse(validTo)]) {
        const clock = jest.spyOn(Date, 'now').mockImplementation(() => at + ahead * 1000);
        try {
          expect(await problemsOf({ keys: [pairOf(one)] })).toEqual([]);
        } finally {
          clock.mockRestore();
        }
      }
    },
  );
});
