/** M17: a factor with a malformed record counts as a factor that nobody can prove; members of a later release are ignored and kept. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { factors } from '../../extensions/factors/records.js';
import { adminClient, adminScopes, adminToken } from '../support/administration/admin.js';
import { Agent, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, namedPeople, postTo, problemOf, submit } from '../support/sign-in/factors.js';
import { backToPresent, passTime } from '../support/time/clock.js';

type Stored = { readonly id: string; readonly version: number } & Record<string, unknown>;
const rows = memoryDirectory();
const stored = () => rows.collection<Stored>('factors.enrolled');
const [acme, globex] = testSeed.tenants;
const service = useIdp({
  directory: rows,
  limits: { signInFailures: 100, signInFailuresPerAddress: 1000 },
  seed: {
    ...testSeed,
    permissions: [...testSeed.permissions, ...adminScopes.map((id) => ({ id, name: id }))],
    tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...namedPeople(['vic', 'other', 'later', 'desk'])] }, globex],
    clients: [...testSeed.clients, adminClient('desk', ['Acme'], ['idp.factors:read', 'idp.factors:write'])],
  } as never,
});
const pkce = createPkce();
const url = (more = {}) => authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more });
const rowOf = async (name: string, kind = 'totp'): Promise<Stored> => {
  const oid = (await service.idp.directory.accounts.candidates(name))[0]?.person.user.id;
  const found = (await stored().find({})).find((row) => row.userId === oid && row.kind === kind);
  if (!found) throw new Error(`${name} has no factor`);
  return found;
};

/** Damage of one member. A row without an optional member is not damaged. */
const damages: Readonly<Record<string, unknown>> = { missing: undefined, null: null, number: 42, list: ['x'], record: { x: 1 } };
const optional = ['lastUsedAt', 'addedIn', 'name', 'outbox'];
const without = (row: Stored, member: string): Stored =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name !== member)) as Stored;

beforeAll(() => passTime(0));
afterAll(backToPresent);

describe('a factor that cannot be read', () => {
  let secret = '';
  let codes: readonly string[] = [];
  let whole: Stored;
  beforeAll(async () => {
    ({ secret, codes } = await enrol(new Agent(), url({ acr_values: 'mfa' }), 'vic', 'vic'));
    passTime(60);
    whole = await rowOf('vic');
  });

  /** Calls the admin API as the help desk of the user's tenant. */
  async function desk(method: string, path = ''): Promise<Response> {
    const token = await adminToken(service.issuer, 'desk', 'idp.factors:read idp.factors:write');
    const headers = { authorization: `Bearer ${token}` };
    return fetch(`${service.issuer}/idp/api/v1/tenants/${whole.tid}/users/${whole.userId}/factors${path}`, { method, headers });
  }

  test('lets nobody in by the password alone, has nobody enrol another, and keeps nobody else out: every member, in every way', async () => {
    const opened: string[] = [];
    const members = Object.keys(whole).filter((name) => !['id', 'version', 'lastUsedAt'].includes(name));
    expect(members).toEqual(expect.arrayContaining(['userId', 'personId', 'tid', 'kind', 'slot', 'createdAt', 'totp', 'pendingEvents']));
    for (const member of members)
      for (const [way, value] of Object.entries(damages)) {
        if (way === 'missing' && optional.includes(member)) continue;
        const row = way === 'missing' ? without(whole, member) : { ...whole, [member]: value };
        await stored().put(row);
        const agent = new Agent();
        const page = await signIn(agent, url(), 'vic', 'vic');
        const enrolled = await postTo(agent, page, '/factors/enrol', { code: codeOf(secret) });
        if (page.location !== undefined || enrolled.location?.includes('code=') || titleOf(page) !== 'Confirm that it is you')
          opened.push(`${member} ${way}`);
      }
    expect(opened).toEqual([]);
    expect((await signIn(new Agent(), url(), 'other', 'other')).location).toContain('code=');
    await stored().put(whole);
  });

  test('S-KIND, S-MEMBER: counts as there, and health() names it, where its members do not fit each other, for every kind', async () => {
    const recovery = await rowOf('vic', 'recovery');
    const passkey = { credentialId: 'a', publicKey: 'a', counter: 0, transports: [] };
    const forms: Readonly<Record<string, object>> = {
      totp: whole,
      passkey: { kind: 'passkey', slot: 'passkey a', passkey },
      recovery: { kind: 'recovery', slot: recovery.slot, recovery: recovery.recovery },
    };
    const kinds = Object.keys(forms);
    expect(kinds).toEqual(factors.row.properties.kind.anyOf.map((literal) => literal.const));
    await stored().remove(recovery.id);
    /** Returns the outcome of a sign-in by the password alone, and whether health() names the row. */
    const outcome = async (row: Stored) => {
      await stored().put(row);
      const page = await signIn(new Agent(), url(), 'vic', 'vic');
      const { problems = [] } = await service.idp.health();
      const isNamed = problems.some((problem) => 'id' in problem && problem.id === row.id);
      return [page.location === undefined ? titleOf(page) : 'signed in', problemOf(page).slice(0, 46), isNamed];
    };
    const removal = async (id: string) => (await desk('DELETE', `/${id}`)).status;
    const refused = ['Confirm that it is you', 'One of your sign-in factors cannot be read. Us', true];
    for (const [kind, form] of Object.entries(forms)) {
      const row = { ...without(whole, 'totp'), ...form } as Stored;
      expect([kind, await outcome(row)]).toEqual([kind, [kind === 'recovery' ? 'signed in' : refused[0], '', false]]);
      const changes: Record<string, Stored> = {
        [`without ${kind}`]: without(row, kind),
        'slot of another': { ...row, slot: `${kind} other` },
      };
      for (const other of kinds.filter((each) => each !== kind)) {
        const of = (forms[other] as Record<string, unknown>)[other];
        changes[`kind ${other}`] = { ...row, kind: other };
        changes[`with ${other}`] = { ...row, [other]: of };
        changes[`${other} in its place`] = { ...without(row, kind), [other]: of };
      }
      for (const [change, changed] of Object.entries(changes))
        expect([kind, change, await outcome(changed)]).toEqual([kind, change, refused]);
      const [other] = await service.idp.directory.accounts.candidates('other');
      // R5-TID: rows that the service finds by the user or by the person, each with another wrong member.
      const misfits: Record<string, object> = {
        'user unknown': { userId: randomUUID() },
        'person unknown': { personId: randomUUID() },
        'person of another': { personId: other?.person.id },
        'no tenant': { tid: '' },
        'tenant of nobody': { tid: randomUUID() },
        'tenant of others': { tid: (await service.idp.directory.tenants.find()).find(({ id }) => id !== whole.tid)?.id },
      };
      // R5-SECRET: no key decrypts the secret.
      if (kind === 'totp')
        for (const secret of ['', 'garbage', (whole.totp as { secret: string }).secret.replace(/.{8}$/, 'AAAAAAAA')])
          misfits[`secret ${secret.slice(0, 8)}`] = { totp: { secret, lastStep: 1 } };
      for (const [misfit, members] of Object.entries(misfits)) {
        const changed = { ...without(row, 'first'), ...members } as Stored;
        expect([kind, misfit, await outcome(changed)]).toEqual([kind, misfit, refused]);
        expect([misfit, await removal(changed.id), (await stored().get(changed.id))?.userId]).toEqual([misfit, 204, undefined]);
      }
    }
    // The factor may be the passkey of that person, so the help desk of this user's tenant leaves it to the operator.
    const [elsewhere] = await service.idp.directory.accounts.candidates('bob@globex.test');
    const ofOther = { ...without(whole, 'totp'), ...forms.passkey, tid: elsewhere?.tenant.id, personId: elsewhere?.person.id };
    const row = without(ofOther as Stored, 'first');
    expect(await outcome(row)).toEqual(refused);
    expect([await removal(row.id), (await stored().get(row.id))?.kind]).toEqual([500, 'passkey']);
    await stored().put(whole);
    await stored().put(recovery);
  });

  test('is named on the page, by health() and to a help desk; a recovery code signs in, and its removal is the way back', async () => {
    await stored().put({ ...whole, totp: 'x' });
    const agent = new Agent();
    const page = await signIn(agent, url(), 'vic', 'vic');
    expect(problemOf(page)).toMatch(/^One of your sign-in factors cannot be read/);
    const { problems } = await service.idp.health();
    expect(problems).toContainEqual(expect.objectContaining({ code: 'record_unreadable', collection: 'factors.enrolled', id: whole.id }));
    expect(membersOf(await postTo(agent, page, '/factors/code', { recovery: codes[0] ?? '' }))).toHaveProperty('code');

    expect(await (await desk('GET')).json()).toMatchObject({ unreadable: [whole.id] });
    expect((await desk('DELETE', `/${whole.id}`)).status).toBe(204);
    passTime(120);
    expect((await signIn(new Agent(), url(), 'vic', 'vic')).location).toContain('code=');
  });
});

test('a member of a later release is ignored, at any depth, and a change of the row keeps it', async () => {
  const { secret } = await enrol(new Agent(), url({ acr_values: 'mfa' }), 'later', 'later');
  const whole = await rowOf('later');
  await stored().put({ ...whole, risk: { level: 3 }, totp: { ...(whole.totp as object), digits: 6 } });
  passTime(300);
  const agent = new Agent();
  const page = await signIn(agent, url(), 'later', 'later');
  expect([titleOf(page), problemOf(page)]).toEqual(['Confirm that it is you', '']);
  expect(membersOf(await submit(agent, page, { code: codeOf(secret) }))).toHaveProperty('code');
  const after = await rowOf('later');
  expect(after).toMatchObject({ risk: { level: 3 }, totp: { digits: 6 }, lastUsedAt: expect.any(String) });
});
