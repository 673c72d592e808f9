/** First contact: an import of the library does not wait for code that only a service needs. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);

const script = `
  import { createRequire } from 'node:module';
  const { cache } = createRequire(process.cwd() + '/');
  const loaded = () => ({
    koa: Object.keys(cache).some((file) => file.includes('koa')),
    http: process.moduleLoadList.includes('NativeModule http'),
  });
  const { createIdentityProvider } = await import('tenant-idp');
  const before = loaded();
  await createIdentityProvider({ issuer: 'no URL' }).catch(() => {});
  console.log(JSON.stringify({ before, after: loaded() }));
`;

test('the import loads no service; the first call of the factory does', async () => {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  expect(JSON.parse(stdout)).toEqual({ before: { koa: false, http: false }, after: { koa: true, http: true } });
});
