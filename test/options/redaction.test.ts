import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../lib/errors.js';
import { resolveOptions } from '../../lib/options/resolve.js';
import { rsaKey } from './production-options.js';

const canary = 'canary-7d1f';
const issuer = 'http://localhost:3000';

describe('design 1: values that may be secret are redacted', () => {
  it.each<[string, object]>([
    ['short keys', { keys: { encryption: [canary] }, cookies: { keys: [canary] }, subjectSalt: canary }],
    ['a string for keys', { keys: canary, cookies: canary }],
    ['a string for a list of keys', { keys: { encryption: canary, signing: canary }, cookies: { keys: canary } }],
    ['keys among unknown members', { keys: { encription: [canary], cookie: canary }, cookieKeys: [canary] }],
    ['broken signing keys', { keys: { signing: [{ ...rsaKey(), d: canary, kid: canary }, canary] } }],
    ['a kid', { keys: { signing: [1, 2].map(() => ({ ...rsaKey(), kid: canary })) } }],
    ['credentials in the issuer', { issuer: `https://me:${canary}@login.example.com` }],
    ['credentials in a broken issuer', { issuer: `http://me:x/${canary}@login.example.com` }],
    ['credentials in an issuer without slashes', { issuer: `https:me:${canary}@login.example.com` }],
    ['the query of the issuer', { issuer: `https://login.example.com?key=${canary}` }],
    ['connection strings', { artifacts: `redis://:${canary}@host`, directory: `mongodb://me:${canary}@host` }],
    ['a server instead of what calls it', { artifacts: `redis://me:${canary}@host`, logger: canary, trustProxy: canary }],
    ['a server in an object', { directory: { auth: { pass: canary } } }],
    ['a seed', { seed: [{ clients: [{ secret: canary }] }] }],
    ['a seed as text', { seed: canary }],
    ['a password for development', { seed: { persons: [{ user: { devPassword: canary }, secrets: [canary] }] } }],
  ])('%s', (_name, options) => {
    let error: unknown;
    try {
      resolveOptions({ issuer, ...options }, { NODE_ENV: 'production' });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ConfigError);
    const { message, stack, problems, details } = error as ConfigError;
    const told = [message, stack, JSON.stringify([error, problems, details]), inspect(error, { depth: 20, showHidden: true })];
    expect(told.join('\n')).not.toContain(canary);
  });

  it('repeats no more than the beginning of long text', () => {
    const long = { [`x${'y'.repeat(500)}`]: 1, oid: 'z'.repeat(500) };
    expect(() => resolveOptions({ issuer, ...long }, {})).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/.{300}/) }) as unknown as Error,
    );
  });

  it('escapes what would break the lines of the message', () => {
    expect(() => resolveOptions({ issuer, oid: 'a\n  issuer: fine', 'b\nc': 1 }, {})).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('\n  issuer') }) as unknown as Error,
    );
  });
});
