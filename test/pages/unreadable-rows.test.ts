/**
 * M18: the pages of a signed-in user work without unreadable or removed records, or say what is wrong, and never answer 500. The tests are
 * generated from the stored rows that name the user, their members, and bad values. For rows that pages read through caches, all rows of a
 * collection are damaged at the same time.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { Agent, authorizeUrl, createPkce, type Json, signIn, titleOf } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { tellChange } from '../support/stores/told-changes.js';
import { until } from '../support/time/until.js';

type Stored = { readonly id: string; readonly version: number } & Readonly<Record<string, unknown>>;

const directory = memoryDirectory();
const connection = { issuer: 'https://up.example', clientId: 'c', clientSecret: 's' };
const service = useIdp({
  directory,
  seed: { ...testSeed, extensions: { connections: [{ ...connection, id: 'social', name: 'Social' }] } } as never,
});
const rowsOf = (name: string) => directory.collection<Stored>(name);

const here = new Agent();
let alice: Stored & { readonly user: Stored };
const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const pages = (): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(['account', 'identities', 'linked-accounts', 'factors'].map((name) => [name, `${service.issuer}/idp/${name}`])),
  chooser: authorizeUrl(service.issuer, { prompt: 'select_account', ...challenge }),
  consent: authorizeUrl(service.issuer, {
    client_id: 'third-party',
    prompt: 'consent',
    scope: 'openid profile email org roles perms',
    ...challenge,
  }),
  code: authorizeUrl(service.issuer, { scope: 'openid profile email org roles perms', ...challenge }),
});

beforeAll(async () => {
  expect((await signIn(here, authorizeUrl(service.issuer, challenge))).location).toContain('code=');
  const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
  if (!account) throw new Error('The seed has no Alice.');
  const { person, tenant } = account;
  const { subsidiaries, persons, users } = service.idp.tenant(tenant.id);
  const { id: subsidiaryId } = await subsidiaries.create({ name: 'Branch' });
  await persons.update(person.id, { subsidiaryId });
  await users.addIdentity(person.user.id, { idp: 'social', subject: 'alice there' });
  await users.addIdentity(person.user.id, { idp: 'gone', subject: 'of a connection that is gone' });
  alice = (await rowsOf('persons').get(person.id)) as never;
});

/** Opens a URL in a browser with the cookies of the sign-in. Returns the page to which the browser is led. */
async function opened(url: string): Promise<{ readonly status: number; readonly title: string }> {
  const agent = new Agent();
  for (const [name, value] of structuredClone(here.cookies)) agent.cookies.set(name, value as never);
  const page = await agent.follow(await agent.get(url));
  return { status: page.status, title: page.location?.includes('code=') ? 'code' : titleOf(page) };
}

const partsOf = (value: unknown, at: readonly string[] = []): readonly (readonly string[])[] =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? Object.entries(value)
        .filter(([name]) => at.length > 0 || !['id', 'version', 'pendingEvents', 'outbox'].includes(name))
        .flatMap(([name, member]) => [[...at, name], ...partsOf(member, [...at, name])])
    : [];
const withPart = (value: Json, [name = '', ...rest]: readonly string[], part: unknown): Json => {
  const next = rest.length === 0 ? part : withPart(value[name], rest, part);
  return Array.isArray(value) ? value.map((each, index) => (String(index) === name ? next : each)) : { ...value, [name]: next };
};

test('every page opens while all is sound', async () => {
  const titles = await Promise.all(Object.values(pages()).map(async (url) => (await opened(url)).status));
  expect(titles.filter((status) => status >= 400)).toEqual([]);
});

test('each row that names the person, with each member bad or gone: no page is 500', async () => {
  const faults: string[] = [];
  let tried = 0;
  const linked = (await rowsOf('persons').find({})).filter(({ user }) => (user as Stored | undefined)?.parentUserId === alice.user.id);
  const rows: (readonly [string, Stored])[] = [['persons', alice], ...linked.map((row) => ['persons', row] as const)];
  for (const name of ['credentials', 'consents'])
    for (const row of await rowsOf(name).find({})) if (JSON.stringify(row).includes(alice.user.id)) rows.push([name, row]);
  for (const [name, row] of rows)
    for (const path of partsOf(row))
      for (const value of [undefined, 42, randomUUID()]) {
        const isWritten = await rowsOf(name)
          .put(withPart(row, path, value))
          .then(
            () => true,
            () => false,
          );
        if (!isWritten) continue;
        tried += 1;
        for (const [page, url] of Object.entries(pages())) {
          const { status, title } = await opened(url);
          if (status >= 500 || title === '') faults.push(`${page} with ${name} /${path.join('/')} ${value}: ${status} ${title}`);
        }
        await rowsOf(name).put(row);
      }
  expect(faults).toEqual([]);
  expect(tried).toBeGreaterThan(60);
});

/** Bad values of members that a page shows or uses, by collection. */
const cached: Readonly<Record<string, readonly object[]>> = {
  tenants: [{ name: 5 }, { signIn: 5 }, { branding: 'x' }, { tid: 5, createdAt: 'x' }],
  groups: [{ permissionIds: 5 }, { name: null }],
  subsidiaries: [{ name: 5 }],
  apiResources: [{ scopeDescriptions: 5 }, { name: 5 }],
  permissions: [{ name: 5 }],
  'connections.connections': [{ name: 5 }, { mapping: 'x' }],
};

test.each(Object.entries(cached))('all rows of %s cannot be read, or are gone: no page is 500', async (name, damages) => {
  const rows = await rowsOf(name).find({});
  const changed = async () => {
    await tellChange(directory, name);
    // Each node looks for changes every second.
    const started = Date.now();
    await until(() => Date.now() - started > 1_500);
  };
  const faults: string[] = [];
  const look = async (damage: string) => {
    await changed();
    for (const [page, url] of Object.entries(pages())) {
      const { status, title } = await opened(url);
      if (status >= 500 || title === '') faults.push(`${page} with ${name} ${damage}: ${status} ${title}`);
    }
  };
  expect(rows.length).toBeGreaterThan(0);
  for (const members of damages) {
    for (const row of rows) await rowsOf(name).put({ ...row, ...members });
    await look(JSON.stringify(members));
  }
  for (const { id } of rows) await rowsOf(name).remove(id);
  await look('gone');
  for (const row of rows) await rowsOf(name).put(row);
  await changed();
  expect(faults).toEqual([]);
});
