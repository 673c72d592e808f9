/** The section `data`: the download of all data of the person, for the person alone. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol, namedPeople, problemOf, submit } from '../support/sign-in/factors.js';
import { impersonatingAt, operatorOptions, operatorSeed } from '../support/sign-in/impersonating.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const mails = captureMail();
const [acme, ...others] = operatorSeed.tenants;
const service = useIdp({
  ...operatorOptions,
  mail: mails.mail,
  seed: {
    ...operatorSeed,
    tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...namedPeople(['ann', 'ben', 'cat', 'dan', 'eve'])] }, ...others],
  } as never,
});
const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
const urlOf = (parameters: Record<string, string> = {}) => authorizeUrl(service.issuer, { ...pkce, ...parameters });
let address: string;
beforeAll(() => {
  address = `${service.issuer}/idp/account/data`;
});

async function opened(name: string, agent = new Agent()): Promise<{ agent: Agent; page: Answer }> {
  await signIn(agent, urlOf(), name, name);
  return { agent, page: await agent.follow(await agent.get(address)) };
}
const download = (agent: Agent, page: Answer) => agent.submit(page, {});

describe('the download', () => {
  test('is a JSON file with what is stored about the person, which nothing stores in between', async () => {
    const { agent, page } = await opened('ann');
    expect(titleOf(page)).toBe('Your data');
    const answer = await download(agent, page);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual([
      200,
      'application/json; charset=utf-8',
      'attachment; filename="account-data.json"',
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const data = JSON.parse(answer.body);
    expect(data).toMatchObject({
      tenant: { name: 'Acme' },
      person: { email: 'ann@acme.test', givenName: 'ann', familyName: 'P', hasNationalId: false },
      user: { userName: 'ann', status: 'active' },
      groups: [],
      password: { changedAt: expect.any(String) },
      consents: [],
      invitations: [],
      signIns: [{ clientId: 'web', amr: ['pwd'] }],
      others: { sessions: [{ idp: 'local' }], grants: [{ clientId: 'web' }] },
    });
    // The download contains no internal members and no secrets.
    expect(answer.body).not.toMatch(/Key"|Voucher|vouchedBy|pendingEvents|passwordHash|scrypt|notBefore|formerEmails|sealed/);
  });

  test('has what the export of the admin API has, but for other persons', async () => {
    const { agent, page } = await opened('ben');
    const data = JSON.parse((await download(agent, page)).body);
    const [account] = await service.idp.directory.accounts.candidates('ben');
    const exported = await service.idp.tenant(account!.tenant.id).persons.export(account!.person.id);
    expect(Object.keys(data).sort()).toEqual(Object.keys(JSON.parse(JSON.stringify(exported))).sort());
    expect(Object.keys(data.others).sort()).toEqual(Object.keys(exported.others).sort());
  });

  test('says of an impersonation neither who it was nor why, and of one by the person not as whom', async () => {
    const acting = await impersonatingAt(service).act('carol@acme.test', { reason: 'Ticket about a secret' });
    expect(acting.response.location).toContain('code=');
    const oids = Object.fromEntries(
      await Promise.all(
        ['otto@acme.test', 'carol@acme.test'].map(
          async (name) => [name, (await service.idp.directory.accounts.candidates(name))[0]!.person.user.id] as const,
        ),
      ),
    );
    const carol = new Agent();
    await signIn(carol, urlOf(), 'carol@acme.test', 'carol');
    const body = (await download(carol, await carol.follow(await carol.get(address)))).body;
    const { signIns, others } = JSON.parse(body);
    expect(signIns.filter((entry: { isImpersonation?: true }) => entry.isImpersonation)).toHaveLength(1);
    expect(others.sessions.filter((session: { isImpersonation?: true }) => session.isImpersonation)).toHaveLength(1);
    expect(others['impersonation.records']).toMatchObject([{ clientId: 'web', isOfImpersonator: false }]);
    expect(body).not.toContain('Ticket about a secret');
    expect(body).not.toContain(oids['otto@acme.test']);
    const otto = new Agent();
    await signIn(otto, urlOf(), 'otto@acme.test', 'otto');
    const own = (await download(otto, await otto.follow(await otto.get(address)))).body;
    expect(JSON.parse(own).others['impersonation.records']).toMatchObject([{ isOfImpersonator: true }]);
    expect(own).not.toContain(oids['carol@acme.test']);
  });

  test('is limited, and the page says until when', async () => {
    const { agent, page } = await opened('cat');
    for (let count = 0; count < 5; count += 1) expect((await download(agent, page)).status).toBe(200);
    const refused = await download(agent, page);
    expect([refused.status, titleOf(refused)]).toEqual([429, expect.stringContaining('Your data')]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(problemOf(refused)).toMatch(/Try again in \d+ min/);
  });
});

describe('the page', () => {
  test('asks for a new sign-in after ten minutes, before the page and before the download', async () => {
    const { agent, page } = await opened('dan');
    try {
      passTime(700);
      const late = await agent.follow(await download(agent, page));
      expect(late.url).toContain('/interaction/');
      expect(late.headers.get('content-disposition')).toBeNull();
      const again = await agent.follow(await agent.get(address));
      expect(again.url).toContain('/interaction/');
      expect(titleOf(await submit(agent, again, { password: 'dan' }))).toBe('Your data');
    } finally {
      backToPresent();
    }
  });

  test('asks a user with a second factor for the factor', async () => {
    await enrol(new Agent(), urlOf({ acr_values: 'mfa' }), 'eve', 'eve');
    const { page } = await opened('eve');
    expect([page.url, page.status]).toEqual([expect.stringContaining('/interaction/'), 200]);
    expect(titleOf(page)).not.toBe('Your data');
  });

  test('gives nothing to a form of another page, and to an impersonator', async () => {
    const { agent, page } = await opened('ben');
    const { action, fields } = formOf(page);
    const forged = await agent.post(action, { ...fields, csrf: `${fields.csrf}x` });
    expect([forged.status, forged.headers.get('content-disposition')]).toEqual([403, null]);
    const foreign = await new Agent().post(action, fields);
    expect(foreign.headers.get('content-disposition')).toBeNull();

    const acting = await impersonatingAt(service).act('carol@acme.test');
    expect((await acting.agent.get(address)).status).toBe(403);
    const posted = await acting.agent.post(address, fields);
    expect([posted.status, posted.headers.get('content-disposition')]).toEqual([403, null]);
  });
});
