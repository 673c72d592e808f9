/**
 * A browser signs in while its former session ends, at each moment of the sign-in, by each way that a session ends. The user gets a sign-in
 * form or is signed in, and never “took too long”. A sign-in that no session has taken up ends with a sign-out.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { tenantNamed } from '../../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { useIdp } from '../../support/service/use-idp.js';

/** The hold on the list of sessions with which their removal begins. While the list is held, the ended sessions are still stored. */
let held: Promise<void> | undefined;
const store = memoryArtifacts();
const artifacts = {
  ...store,
  async listByAccount(account: string) {
    await held;
    return store.listByAccount(account);
  },
};
const service = useIdp({ artifacts, limits: { signInFailuresPerAddress: 100_000 } });
const { challenge } = createPkce();
const ask = (parameters: Record<string, string> = {}): string =>
  authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256', ...parameters });

function hold(): () => void {
  let release = (): void => undefined;
  held = new Promise((resolve) => {
    release = () => {
      held = undefined;
      resolve();
    };
  });
  return release;
}

const alice = async () => {
  const tid = await tenantNamed(service.idp, 'Acme');
  const oid = (await service.idp.tenant(tid).users.findByUserName('alice@acme.test'))?.user.id ?? '';
  return { tid, oid, users: service.idp.tenant(tid).users };
};
const silent = async (agent: Agent): Promise<Record<string, string>> =>
  membersOf(await agent.follow(await agent.get(ask({ prompt: 'none' }))));

/** Ways in which the former session ends. */
const ways: Readonly<Record<string, (agent: Agent) => Promise<unknown>>> = {
  'signed out everywhere by an administrator': async () => {
    const { users, oid } = await alice();
    await users.signOutEverywhere(oid);
  },
  'disabled and enabled again': async () => {
    const { users, oid } = await alice();
    await users.disable(oid);
    await users.enable(oid);
  },
  'signed out in another tab': async (agent) => {
    const tab = Object.assign(new Agent(), { cookies: agent.cookies });
    const page = await tab.get(`${service.issuer}/connect/endsession`);
    await tab.follow(page.location === undefined ? await tab.submit(page, { logout: 'yes' }) : page);
  },
};

const TOO_LONG = /took too long/;
/** Signs in on the forms that follow, four at most. */
async function onward(agent: Agent, first: Answer): Promise<Record<string, string>> {
  let page = await agent.follow(first);
  for (let forms = 0; forms < 4 && page.location === undefined; forms += 1) {
    expect(titleOf(page)).not.toMatch(TOO_LONG);
    const fields = page.body.includes('name="password"') ? { password: 'alice' } : { identifier: 'alice@acme.test' };
    page = await agent.follow(await agent.submit(page, fields));
  }
  return membersOf(page);
}
const passwordForm = async (agent: Agent, url: string): Promise<Answer> => {
  const page = await agent.follow(await agent.get(url));
  return page.body.includes('name="password"') ? page : agent.submit(page, { identifier: 'alice@acme.test' });
};

/** Moments at which the session ends: `end` ends the sign-in, and `remove` lets its record be removed. A moment returns the last answer. */
const moments: Readonly<Record<string, (agent: Agent, end: () => Promise<unknown>, remove: () => Promise<void>) => Promise<Answer>>> = {
  'before the request, removed after its end': async (agent, end, remove) => {
    await end();
    const page = await agent.follow(await agent.submit(await passwordForm(agent, ask()), { password: 'alice' }));
    await remove();
    return page;
  },
  'before the request, removed under its form': async (agent, end, remove) => {
    await end();
    const form = await passwordForm(agent, ask());
    await remove();
    return agent.submit(form, { password: 'alice' });
  },
  'before the request, removed before its page': async (agent, end, remove) => {
    await end();
    const { location = '' } = await agent.get(ask());
    await remove();
    return agent.get(location);
  },
  'before the request, removed before it is resumed': async (agent, end, remove) => {
    await end();
    const posted = await agent.submit(await passwordForm(agent, ask()), { password: 'alice' });
    await remove();
    return posted;
  },
  'under the form of a request that asks for a sign-in': async (agent, end, remove) => {
    const form = await passwordForm(agent, ask({ prompt: 'login' }));
    await end();
    await remove();
    return agent.submit(form, { password: 'alice' });
  },
  'under the page of a request that asks for a sign-in': async (agent, end, remove) => {
    const { location = '' } = await agent.get(ask({ prompt: 'login' }));
    await end();
    await remove();
    return agent.get(location);
  },
  'before a request that asks for a sign-in is resumed': async (agent, end, remove) => {
    const posted = await agent.submit(await passwordForm(agent, ask({ prompt: 'login' })), { password: 'alice' });
    await end();
    await remove();
    return posted;
  },
};

describe.each(Object.entries(ways))('a session that is %s', (_, end) => {
  test.each(Object.entries(moments))('%s: the user signs in', async (_name, moment) => {
    const agent = new Agent();
    expect(membersOf(await signIn(agent, ask()))).toHaveProperty('code');
    const release = hold();
    const remove = async (): Promise<void> => {
      release();
      // The removal that was held continues now.
      await sleep(200);
    };
    try {
      const last = await moment(agent, () => end(agent), remove);
      expect(titleOf(last)).not.toMatch(TOO_LONG);
      expect(await onward(agent, last)).toHaveProperty('code');
      // The sign-in stays.
      expect(await silent(agent)).toHaveProperty('code');
    } finally {
      release();
    }
  });
});

describe('a sign-in whose resume URL was not visited', () => {
  test.each([
    ['with nobody signed in', undefined],
    ['with a session of another sign-in', 'alice@acme.test'],
  ])('ends with a sign-out in its browser, %s', async (_, before) => {
    const agent = new Agent();
    if (before !== undefined) await signIn(agent, ask());
    const { location: resume = '' } = await agent.submit(await passwordForm(agent, ask({ prompt: 'login' })), { password: 'alice' });
    await ways['signed out in another tab']?.(agent);
    const page = await agent.follow(await agent.get(resume));
    expect([page.location, page.body.includes('name="identifier"')]).toEqual([undefined, true]);
    expect(await silent(agent)).toMatchObject({ error: 'login_required' });
    expect(await onward(agent, page)).toHaveProperty('code');
  });
});
