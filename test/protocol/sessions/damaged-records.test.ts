/** Damaged sessions and grants in the store give no access, and stop no list, no export and no sign-out. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { recordIn, textOf } from '../../../lib/oidc/artifacts/short-form.js';
import { isOfKind } from '../../../lib/store/artifact-key.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { type Agent, authorizeUrl, createPkce, type Json, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf, isActive } from '../../support/client/endpoints.js';
import { useIdp } from '../../support/service/use-idp.js';

const artifacts = memoryArtifacts();
const service = useIdp({ artifacts, seed: adminSeed, limits: { adminRequestsPerMinute: 100_000 } });

/** Values of each type of JSON. */
const values: readonly unknown[] = [null, true, 5, 'x', [], [5], {}];
const isMembers = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const types = {
  text: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number',
  texts: (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  list: (value: unknown) => Array.isArray(value) && value.every(isMembers),
  act: () => false,
  login: () => false,
  members: isMembers,
};
const login = { authTime: 'number', amr: 'texts', idp: 'text', act: 'act', endsAt: 'number' } as const;
/** The members of each kind of record, by their path, with their types. */
const members: Readonly<Record<string, Readonly<Record<string, keyof typeof types>>>> = {
  Session: {
    loginTs: 'number',
    amr: 'texts',
    idp: 'text',
    act: 'act',
    endsAt: 'number',
    grants: 'list',
    authorizations: 'members',
  },
  Grant: {
    ...{ clientId: 'text', sid: 'text', login: 'login' },
    ...Object.fromEntries(Object.entries(login).map(([name, type]) => [`login.${name}`, type])),
  },
};

interface Damage {
  readonly name: string;
  readonly apply: (value: string) => string;
}
function withMember(kind: string, text: string, path: string, value: unknown): string {
  const record = recordIn(kind, { value: text, account: 'the account' }) as Json;
  const [name = '', inner] = path.split('.');
  record[name] = inner === undefined ? value : { ...record[name], [inner]: value };
  return textOf(kind, record);
}
const damagesOf = (kind: string): readonly Damage[] => [
  ...['no JSON', '', '[]', 'null', '5', '"x"'].map((text) => ({ name: `the text ${text}`, apply: () => text })),
  ...Object.entries(members[kind] ?? {}).flatMap(([path, type]) =>
    values
      .filter((value) => !types[type](value))
      .map((value) => ({ name: `${path}: ${JSON.stringify(value)}`, apply: (text: string) => withMember(kind, text, path, value) })),
  ),
];

let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

const user = { userName: 'bob@globex.test', password: 'bob' };
async function addresses() {
  const [account] = await service.idp.directory.accounts.candidates(user.userName);
  const { tenant, person } = account ?? {};
  const at = `/tenants/${tenant?.id}`;
  const ofUser = `${at}/users/${person?.user.id}`;
  return { oid: person?.user.id ?? '', ofUser, sessions: `${ofUser}/sessions`, exported: `${at}/persons/${person?.id}/export` };
}
const recordsOf = async (oid: string, kind: string) => (await artifacts.listByAccount(oid)).filter(({ key }) => isOfKind(key, kind));

/** Signs a browser in, and damages the session or the grant of that sign-in. */
async function damagedBrowser(oid: string, kind: string, { apply }: Damage) {
  const known = new Set((await recordsOf(oid, kind)).map(({ key }) => key));
  const { agent, tokens } = await obtainTokens(service.issuer, { ...user, scope: 'openid offline_access' });
  const record = (await recordsOf(oid, kind)).find(({ key }) => !known.has(key));
  if (!record) throw new Error(`no ${kind}`);
  const { version, ...rest } = record;
  expect(await artifacts.commit([{ ...rest, op: 'put', value: apply(record.value), if: { version } }])).toMatchObject({ ok: true });
  return { agent, tokens };
}

const url = () => authorizeUrl(service.issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
const isSignedIn = async (agent: Agent): Promise<boolean> => {
  const answer = await agent.follow(await agent.get(url()));
  expect(answer.status).toBeLessThan(500);
  return 'code' in membersOf(answer);
};
async function signOut(agent: Agent): Promise<number> {
  const page = await agent.get(`${service.issuer}/connect/endsession`);
  return (await agent.follow(page.location === undefined ? await agent.submit(page, { logout: 'yes' }) : page)).status;
}

describe.each(Object.keys(members))('damaged: %s', (kind) => {
  test.each(['sign-out', 'disable'])('left out of lists, and removed by %s', async (way) => {
    const { oid, ofUser, sessions, exported } = await addresses();
    const whole = await obtainTokens(service.issuer, { ...user, scope: 'openid offline_access' });
    const [{ id }] = (await root(sessions)).json.items;
    const endpoints = endpointsOf(service.issuer);
    const isOfSession = kind === 'Session';
    // A browser that signs out removes its own damaged grant.
    const signsOut = isOfSession || way === 'disable';
    let others = 0;

    for (const damage of damagesOf(kind)) {
      const { agent, tokens } = await damagedBrowser(oid, kind, damage);
      const listed = await root(sessions);
      const found = {
        lists: [listed.status, listed.json.items?.some((item: Json) => item.id === id), listed.json.items?.length],
        exports: (await root(exported)).status,
        page: (await agent.follow(await agent.get(`${service.issuer}/idp/account`))).status,
        signedIn: await isSignedIn(agent),
        active: await isActive(endpoints, tokens.access_token),
        userinfo: (await endpoints.userinfo(tokens.access_token)).status,
        refresh: (await endpoints.refresh(tokens.refresh_token)).status,
        signOut: signsOut && (await signOut(agent)),
      };
      const opens = { active: isOfSession, userinfo: isOfSession ? 200 : 401, refresh: isOfSession ? 200 : 400 };
      const expected = {
        lists: [200, true, isOfSession ? 1 : others + 2],
        exports: 200,
        page: 200,
        signedIn: !isOfSession,
        ...opens,
        signOut: signsOut && 200,
      };
      expect([damage.name, found]).toEqual([damage.name, expected]);
      if (!signsOut) others += 1;
    }
    expect(await isSignedIn(whole.agent)).toBe(true);
    expect((await whole.agent.get(`${service.issuer}/idp/account`)).status).toBe(200);

    if (isOfSession || !signsOut) expect((await recordsOf(oid, kind)).length).toBeGreaterThanOrEqual(damagesOf(kind).length);
    expect((await root.post(`${ofUser}/${way}`)).status).toBeLessThan(300);
    expect(await isSignedIn(whole.agent)).toBe(false);
    expect(await isActive(endpoints, whole.tokens.access_token)).toBe(false);
    while ((await artifacts.listByAccount(oid)).some(({ key }) => isOfKind(key, 'Session') || isOfKind(key, 'Grant'))) await sleep(5);
    expect((await root(sessions)).json.items).toEqual([]);
    if (way === 'disable') expect((await root.post(`${ofUser}/enable`)).status).toBeLessThan(300);
  });
});
