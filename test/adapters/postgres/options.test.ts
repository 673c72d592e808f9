/** Issue 44: options that are refused before a server is asked, and a pool whose connections break. */
import { EventEmitter } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type PostgresPool, postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';

const pool: PostgresPool = { connect: () => Promise.reject(new Error('never asked')) };

describe('options of the PostgreSQL stores', () => {
  test.each([postgresArtifacts, postgresDirectory])('%p refuses what is no pool, and names that no table can have', (make) => {
    for (const wrong of [undefined, null, {}, 'postgres://localhost']) {
      expect(() => make({ pool: wrong as unknown as PostgresPool })).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    }
    for (const prefix of ['a b', 'a"b', 'a.b', "a'b", 'a\0', 'ä', 'x'.repeat(33), 7 as unknown as string]) {
      expect(() => make({ pool, prefix })).toThrow(/prefix: expected/);
    }
    for (const schema of ['', 'a"b', "a'b", '-a', 'a b', 'a$make$b', 'x'.repeat(64), 7 as unknown as string]) {
      expect(() => make({ pool, schema })).toThrow(/schema: expected/);
    }
    expect(() => make({ pool, prefix: '', schema: 'login-1' })).not.toThrow();
  });

  test('a Pool of pg fits, and none of the options is a parameter that a pooler refuses', () => {
    const own = new pg.Pool({ ...postgresOptions, connectionString: 'postgres://localhost/none' });
    expect(() => postgresDirectory({ pool: own })).not.toThrow();
    const refused = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'options', 'query_timeout'];
    expect(Object.keys(postgresOptions).filter((name) => refused.includes(name))).toEqual([]);
  });

  test('a connection that breaks while no statement runs ends no process, and two stores listen once', () => {
    const emitter = Object.assign(new EventEmitter(), pool);
    for (const make of [postgresArtifacts, postgresDirectory]) make({ pool: emitter });
    expect(emitter.listenerCount('error')).toBe(1);
    expect(emitter.emit('error', new Error('Connection terminated unexpectedly'))).toBe(true);
  });
});
