/** Design §8, threat L5: every line is `(fields, message)`, and an error in it has only members that explain the error. */
import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { IdpError, type Logger } from 'tenant-idp';
import { withBareErrors } from '../../lib/logger.js';
import { keepLog } from '../support/service/kept-log.js';

describe('design §8: the logger contract', () => {
  test('console fits', () => {
    const logger: Logger = console;
    expect(typeof logger.info).toBe('function');
  });

  test('a message first, or an error as fields, does not compile', () => {
    const { logger, logged } = keepLog();
    // @ts-expect-error: pino would lose the error
    logger.error('failed', new Error('lost'));
    // @ts-expect-error: pino would take the text for the message, and there are no fields
    logger.warn('only a message');
    expect(logged.map(([, message]) => message)).toEqual([
      'a line that is not fields and a message',
      'a line that is not fields and a message',
    ]);
  });

  test('an error under another name than err is found by the tests', () => {
    const { logger, logged } = keepLog();
    logger.warn({ error: new Error('lost') }, 'failed');
    expect(logged[0]).toEqual([{ misplaced: ['error'] }, 'errors that are not err']);
  });
});

describe('L5: what reaches the logger of an error', () => {
  const told = (err: unknown) => {
    const { logger, lines } = keepLog();
    withBareErrors(logger).error({ err }, 'failed');
    return lines[0]?.fields.err as Error & Record<string, unknown>;
  };
  const canary = 'canary-of-a-record';

  test('its class, message, stack, code and causes', () => {
    const cause = Object.assign(new TypeError('no connection'), { code: 'ECONNREFUSED' });
    const err = told(new IdpError('store_unavailable', { store: 'redis' }, { cause }));
    expect(err).toBeInstanceOf(IdpError);
    expect(err).toMatchObject({ name: 'IdpError', code: 'store_unavailable', details: { store: 'redis' } });
    expect(err.stack).toContain('logger.test');
    expect(err.cause).toBeInstanceOf(TypeError);
    expect(err.cause).toMatchObject({ message: 'no connection', code: 'ECONNREFUSED' });
    const several = told(new AggregateError([cause], 'all failed')) as unknown as AggregateError;
    expect(several.errors).toEqual([expect.objectContaining({ message: 'no connection' })]);
  });

  test('nothing that a driver put on it, however deep, nor an object that was thrown', () => {
    const inner = Object.assign(new Error('inner'), { request: { headers: { authorization: canary } } });
    const outer = Object.assign(new Error('outer', { cause: inner }), { command: { args: [canary] }, writeErrors: [canary] });
    expect(inspect(told(outer), { depth: 9, showHidden: true })).not.toContain(canary);
    expect(inspect(told({ secret: canary }))).not.toContain(canary);
    expect(inspect(told(new Error('odd', { cause: { secret: canary } })), { showHidden: true })).not.toContain(canary);
  });

  test('of a plain object as its cause: both values of a comparison, else the names of its members', () => {
    const mismatch = (cause: object) => told(new Error('odd', { cause })).cause;
    const [expected, other] = ['https://a.example', 'https://a.example/\u2028admin'];
    const line = (name: string) => `${name}: expected "https://a.example", got "https://a.example/\\u2028admin"`;
    expect(mismatch({ expected, attribute: 'issuer', body: { issuer: other, secret: canary } })).toBe(line('issuer'));
    expect(mismatch({ expected, claim: 'aud', claims: { aud: other, email: canary } })).toBe(line('aud'));
    expect(mismatch({ expected, parameters: new URLSearchParams({ iss: other, code: canary }) })).toBe(line('iss'));
    expect(mismatch({ expected, claim: 'nonce', claims: { nonce: canary } })).toBe('an object with expected, claim, claims');
    expect(mismatch({ expected, attribute: 'issuer', body: { issuer: 'x'.repeat(10_000) } })).toHaveLength(242);
    expect(mismatch({ 'a\nb': canary })).toBe('an object with a\\u000ab');
  });

  test('no line break of its message begins a line', () => {
    const err = told(new Error('bad value\n2026-11-22 admin signed in\u2028'));
    expect(err.message).toBe('bad value\\u000a2026-11-22 admin signed in\\u2028');
    expect(err.stack).not.toContain('\n2026');
    expect(told('a\r\nb')).toBe('a\\u000d\\u000ab');
  });

  test('of a time-out by the platform, which a logger can read member by member', () => {
    const err = told(new DOMException('The operation timed out.', 'TimeoutError'));
    expect(err).toBeInstanceOf(Error);
    expect(`${err}`).toBe('TimeoutError: The operation timed out.');
    for (const name in err) expect(() => err[name]).not.toThrow();
  });

  test('an error that is its own cause ends', () => {
    const round = new Error('round');
    round.cause = round;
    expect(told(round).message).toBe('round');
  });
});
