/** A client that a public generator makes from the OpenAPI document compiles and works. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { useIdp } from '../support/service/use-idp.js';
import { administratorSeed, tenantIdOf } from './administrator.js';

const run = promisify(execFile);
const folder = mkdtempSync(join(process.cwd(), 'dist', 'generated-client-'));
afterAll(() => rmSync(folder, { recursive: true }));

const service = useIdp({ seed: administratorSeed });

const program = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const { ISSUER = '', TOKEN = '', TENANT = '' } = process.env;
const client = createClient<paths>({ baseUrl: ISSUER + '/idp/api/v1', headers: { authorization: 'Bearer ' + TOKEN } });

const found = await client.GET('/tenants/{tid}', { params: { path: { tid: TENANT } } });
if (!found.data) throw new Error(found.error.code);
const name: string = found.data.name;
const changed = await client.PATCH('/tenants/{tid}', {
  params: { path: { tid: TENANT } },
  body: { locale: 'nb' },
  headers: { 'content-type': 'application/merge-patch+json' },
});
const unknown = await client.GET('/tenants/{tid}', { params: { path: { tid: 'unknown' } } });
// @ts-expect-error there is no such path
export type Unknown = paths['/nothing'];
console.log(JSON.stringify({ name, locale: changed.data?.locale, code: unknown.error?.code }));
`;

test('openapi-typescript and openapi-fetch: the types compile, and requests are answered', async () => {
  const { issuer, idp } = service;
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${issuer}/idp/api/v1/openapi.json`)).text());
  await run('node_modules/.bin/openapi-typescript', [join(folder, 'openapi.json'), '-o', join(folder, 'schema.ts')]);
  writeFileSync(join(folder, 'main.ts'), program);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const compilerOptions = { target: 'es2023', module: 'nodenext', strict: true, skipLibCheck: true, types: ['node'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
  await run(process.execPath, ['node_modules/@typescript/native/bin/tsc', '-p', folder]).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });

  const credentials = Buffer.from(`administrator:${encodeURIComponent('a secret: 100 % (!)')}`).toString('base64');
  const response = await fetch(`${issuer}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials&scope=idp.tenants%3Aread+idp.tenants%3Awrite',
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const { stdout } = await run(process.execPath, [join(folder, 'main.js')], {
    env: { ISSUER: issuer, TOKEN: token, TENANT: await tenantIdOf(idp, 'Acme') },
  });
  expect(JSON.parse(stdout)).toEqual({ name: 'Acme', locale: 'nb', code: 'not_found' });
});
