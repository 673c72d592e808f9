/** First contact: who imports the library waits for nothing that only a service needs. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);

const script = `
  import Ajv from 'ajv/dist/core.js';
  let compiled = 0;
  const { compile } = Ajv.default.prototype;
  Ajv.default.prototype.compile = function (...args) { compiled += 1; return compile.apply(this, args); };
  const { createIdentityProvider } = await import('tenant-idp');
  const before = compiled;
  await createIdentityProvider({ issuer: 'no URL' }).catch(() => {});
  console.log(JSON.stringify({ before, after: compiled }));
`;

test('the import compiles no schema; the first service does', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  expect(JSON.parse(stdout)).toEqual({ before: 0, after: 1 });
});
