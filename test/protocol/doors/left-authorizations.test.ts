/**
 * The plain door leaves an authorization request to oidc-provider if the request needs a page, or is refused. Until then, the door has had
 * no effect: extensions are asked as often, and as many lines are logged, as if there were no door.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactStore, Extension, Person } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { keyOf } from '../../../lib/oidc/artifacts/ids.js';
import { recordIn, textOf } from '../../../lib/oidc/artifacts/short-form.js';
import { cookieHeader } from '../../../lib/testing/cookies.js';
import { Agent, authorizeUrl, createPkce, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { startIdp, type TestIdp } from '../../support/service/idp.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';

const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code'] };
const clients = [...testSeed.clients, { id: 'globex', name: 'Globex alone', secret: 's', metadata: code, allowedScopes: ['openid'] }];
const permissions = [...testSeed.permissions, { id: 'idp.users:write', name: 'Change users' }];
const seed = { ...testSeed, permissions, clients } as unknown as typeof testSeed;

/** Returns an extension that records each call of its requirement and of `mayGoOn`. */
const counting = (asked: string[], answers: ReadonlyMap<string, () => 'met' | 'open' | 'refused'>): Extension => ({
  name: 'counting',
  impersonation: () => ({
    mayGoOn: () => {
      asked.push('may go on');
      return true;
    },
    ending: () => {},
  }),
  requirements: () => [
    {
      name: 'counting',
      error: 'interaction_required',
      silent: 'pass',
      check: async (_account, _signedIn, { client, parameters }) => {
        asked.push(client.id);
        return answers.get(parameters.state ?? '')?.() ?? 'met';
      },
      show: (ctx) => {
        ctx.body = 'a page';
      },
    },
  ],
});

const answers = new Map<string, () => 'met' | 'open' | 'refused'>([
  ['open', () => 'open'],
  ['refused', () => 'refused'],
  [
    'broken',
    () => {
      throw new Error('the requirement is broken');
    },
  ],
]);

interface Way {
  readonly service: TestIdp;
  readonly asked: string[];
  readonly reads: string[];
  readonly artifacts: ArtifactStore;
  readonly directory: ReturnType<typeof memoryDirectory>;
}

async function start(isConfigured: boolean): Promise<Way> {
  const asked: string[] = [];
  const reads: string[] = [];
  const artifacts = memoryArtifacts();
  const directory = memoryDirectory();
  const service = await startIdp({
    seed,
    directory,
    artifacts: {
      ...artifacts,
      read(wanted) {
        reads.push(wanted.map(({ key }) => key.slice(0, key.indexOf('{'))).join());
        return artifacts.read(wanted);
      },
    },
    extensions: [counting(asked, answers)],
    ...(isConfigured ? { configure: () => {} } : {}),
  });
  return { service, asked, reads, artifacts, directory };
}

let ways: readonly Way[];
beforeAll(async () => {
  ways = await Promise.all([start(false), start(true)]);
});
afterAll(() => Promise.all(ways.map(({ service }) => service.close())));

const { challenge } = createPkce();
const url = ({ service: { issuer } }: Way, parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(issuer, { scope: 'openid', code_challenge: challenge, code_challenge_method: 'S256', ...parameters });

/** Returns the status and the error of a request, and its effects: the calls of extensions, the reads and the log lines. */
async function effects(way: Way, agent: Agent, parameters: Record<string, string | undefined>) {
  const { service, asked, reads } = way;
  asked.length = reads.length = 0;
  const from = service.lines.length;
  const answer = await agent.get(url(way, parameters));
  const lines = service.lines.slice(from).map(({ level, message, fields: { reason } }) => [level, message, reason]);
  return {
    status: answer.status,
    error: answer.location?.startsWith(redirectUri) ? membersOf(answer).error : undefined,
    asked: [...asked],
    reads: [...reads],
    lines,
  };
}

async function signedIn(way: Way): Promise<Agent> {
  const agent = new Agent();
  await signIn(agent, url(way));
  return agent;
}

describe('a request that the door leaves', () => {
  test.each(['open', 'refused', 'broken'])('asks a requirement that is %s once', async (state) => {
    for (const more of [{}, { prompt: 'none' }]) {
      const [here, there] = await Promise.all(ways.map(async (way) => effects(way, await signedIn(way), { state, ...more })));
      expect(here).toEqual(there);
    }
  });

  test('asks once whether an impersonation may go on', async () => {
    const [here, there] = await Promise.all(
      ways.map(async (way) => {
        const agent = await signedIn(way);
        const [, uid = ''] = /idp\.session=([\w-]{22})/.exec(cookieHeader(agent.cookies, url(way)) ?? '') ?? [];
        const key = keyOf('Session', uid);
        const found = key && (await way.artifacts.read([{ key }])).get(key);
        if (!found) throw new Error('there is no session');
        const { version, ...rest } = found;
        const record = recordIn('Session', found) as { readonly accountId: string };
        const act = { oid: record.accountId, sub: record.accountId, tid: 'x' };
        const value = textOf('Session', { ...record, act, impersonation: 'counting:x' });
        await way.artifacts.commit([{ ...rest, op: 'put', value, if: { version } }]);
        return effects(way, agent, {});
      }),
    );
    expect(here?.asked).toContain('may go on');
    expect(here).toEqual(there);
  });

  test('logs once that a linked account cannot be chosen', async () => {
    const [here, there] = await Promise.all(
      ways.map(async (way) => {
        const { directory, tenant } = way.service.idp;
        const agent = await signedIn(way);
        expect(membersOf(await agent.get(url(way, { client_id: 'globex' })))).toHaveProperty('code');
        const persons = way.directory.collection<Person>('persons');
        const child = (await persons.find({})).find(({ user }) => user?.userName === 'alice@globex.test');
        if (!child) throw new Error('there is no linked account');
        const { id } = await tenant(child.tid).groups.create({ name: 'Privileged', permissionIds: ['idp.users:write'] });
        const unconfirmed = { groupIds: [id], parentVouchedBy: { by: 'tenant', tids: [], permissionIds: [] } };
        await persons.update(child.id, (row) => ({ ...row, user: { ...row.user, ...unconfirmed } }) as Person);
        await directory.clients.update('globex', { allowedTenants: [child.tid] });
        return effects(way, agent, { client_id: 'globex' });
      }),
    );
    expect(here?.lines).toEqual([['info', 'sign-in not continued', 'unconfirmed']]);
    expect(here).toEqual(there);
  });
});
