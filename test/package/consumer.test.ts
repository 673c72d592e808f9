/** A project that installed the package: it gets the packed files, with the dependencies that the package names and no others. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type InstalledPackage, installPackage } from './installed-package.js';

const program = `import { createIdentityProvider, defineClaims, type IdentityProvider } from 'tenant-idp';
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Extension, html } from 'tenant-idp/extension';
import { type ArtifactStore, IdpError, slotOfKey } from 'tenant-idp/store';
import { resolveClaims } from 'tenant-idp/testing';

export const page: Extension = {
  name: 'page',
  routes(router, { service: { url } }) {
    router.get('/page', (ctx) => {
      ctx.body = String(html\`<a href="\${url('/')}">home</a>\`);
    });
  },
};
/** A store of one's own, about another. */
export const inOneSlot = (store: ArtifactStore): ArtifactStore => ({
  ...store,
  async commit(writes) {
    if (new Set(writes.map(({ key }) => slotOfKey(key))).size > 1) throw new IdpError('invalid_request');
    return store.commit(writes);
  },
});
const hr = defineClaims({
  name: 'hr',
  load: async ({ person }) => ({ costCenter: person.externalId ?? 'none' }),
  claims: { cost_center: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ data }) => data.costCenter } },
});
export const start = (issuer: string): Promise<IdentityProvider> =>
  createIdentityProvider({ issuer, claims: [hr], extensions: [page], artifacts: inOneSlot(memoryArtifacts()), directory: memoryDirectory() });
export const koa = async () => (await start('http://localhost:3000')).middleware();
export const claims = (): Promise<Record<string, unknown>> => resolveClaims(hr, { scopes: 'hr' });
testArtifactStore('memory', async () => memoryArtifacts());
testDirectoryStore('memory', async () => memoryDirectory());
`;

const run = promisify(execFile);

describe('design §1: in a project that installed the package', () => {
  let installed: InstalledPackage;
  let project: string;
  /** Lines of the compiler about both programs, and about the types of the package. */
  let said: readonly string[];
  beforeAll(async () => {
    installed = await installPackage();
    ({ project } = installed);
    const wrong = program.replace('.middleware()', '.nothing()').replace("type: 'string'", "type: 'number'");
    await writeFile(join(project, 'main.ts'), program);
    await writeFile(join(project, 'wrong.ts'), wrong);
    said = await installed.compile(['main.ts', 'wrong.ts'], '--noEmit');
  });

  test('a program type-checks, and so do the types it was given', () => {
    expect(said.filter((line) => !line.startsWith('wrong.ts'))).toEqual([]);
  });

  test('a program that uses what is not there does not', () => {
    const lines = said.filter((line) => line.startsWith('wrong.ts'));
    expect(lines).toEqual([expect.stringContaining('TS2322'), expect.stringContaining('nothing')]);
  });

  test('it runs', async () => {
    const script = `import { createIdentityProvider } from 'tenant-idp';
      const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', logger: { debug() {}, info() {}, warn() {}, error: console.error } });
      console.log(idp.issuer, (await idp.health()).status);
      await idp.close();`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
    expect(stdout).toBe('http://localhost:3000 up\n');
  });

  test('drivers that are not installed are not missed until they are used', async () => {
    const script = `const { redisOptions } = await import('tenant-idp/adapters/redis');
      console.log(redisOptions.enableOfflineQueue, await import('ioredis').catch(({ code }) => code));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
    expect(stdout).toBe('false ERR_MODULE_NOT_FOUND\n');
  });

  test('a schema of attributes without ajv is refused with what to install', async () => {
    const script = `import { createIdentityProvider } from 'tenant-idp';
      const attributes = { schema: { type: 'object' } };
      await createIdentityProvider({ issuer: 'http://localhost:3000', attributes }).catch(({ problems }) => console.log(JSON.stringify(problems)));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
    const expected = 'the package ajv 8, which checks attributes: run npm install ajv@8';
    expect(JSON.parse(stdout)).toEqual([{ path: 'attributes.schema', expected }]);
  });
});
