/** Threat G8, issue 15: permission × target × tenant × linked. Only the cells that are allowed mint a token. */
import { beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Agent } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, permission } from '../support/sign-in/impersonating.js';

const service = useIdp(operatorOptions);
let support: ReturnType<typeof impersonatingAt>;

const operators = {
  'holds it in Acme': { name: 'otto@acme.test', tenants: ['Acme'] },
  'holds it in Globex by a linked account': { name: 'olga@acme.test', tenants: ['Globex'] },
  'holds it in both, by linked accounts': { name: 'both@acme.test', tenants: ['Acme', 'Globex'] },
  'holds it nowhere': { name: 'carol@acme.test', tenants: [] },
} as const;
const states = ['active', 'invited', 'disabled'] as const;
const groups = { none: [], holder: [permission], administrator: ['idp.users:read'], other: ['orders.view'] } as const;
/** Accounts in the other tenant to which the target is linked. */
const links = ['none', 'parent of none', 'parent of holder', 'parent of administrator', 'child of none', 'child of holder'] as const;
const tenants = ['Acme', 'Globex'] as const;

interface Cell {
  readonly tenant: (typeof tenants)[number];
  readonly state: (typeof states)[number];
  readonly group: keyof typeof groups;
  readonly link: (typeof links)[number];
}
/** Each value of one dimension with the plain values of the others, and pairs of values that matter together. */
const cells: readonly Cell[] = tenants.flatMap((tenant) => [
  ...states.map((state) => ({ tenant, state, group: 'none', link: 'none' }) as const),
  ...(Object.keys(groups) as (keyof typeof groups)[]).map((group) => ({ tenant, state: 'active', group, link: 'none' }) as const),
  ...links.map((link) => ({ tenant, state: 'active', group: 'none', link }) as const),
  { tenant, state: 'active', group: 'holder', link: 'child of none' },
  { tenant, state: 'disabled', group: 'none', link: 'parent of none' },
]);
const isAllowed = (operator: keyof typeof operators, { tenant, state, group, link }: Cell): boolean =>
  (operators[operator].tenants as readonly string[]).includes(tenant) &&
  state === 'active' &&
  (group === 'none' || group === 'other') &&
  !/holder|administrator/.test(link);

const made = new Map<Cell, string>();
const tids: Record<string, string> = {};

beforeAll(async () => {
  support = impersonatingAt(service);
  const { directory } = service.idp;
  for (const { name, id } of await directory.tenants.find()) tids[name] = id;
  const groupIn = async (tenant: string, group: keyof typeof groups): Promise<string[]> => {
    const own = service.idp.tenant(tids[tenant] ?? '').groups;
    const name = `matrix ${group}`;
    const found = (await own.findByName(name)) ?? (await own.create({ name, permissionIds: [...groups[group]] }));
    return [found.id];
  };
  let number = 0;
  const user = async (tenant: string, group: keyof typeof groups): Promise<string> => {
    number += 1;
    const name = `person${number}`;
    const { persons, users } = service.idp.tenant(tids[tenant] ?? '');
    const { user } = await persons.create({
      givenName: 'P',
      familyName: name,
      user: { userName: name, groups: { ids: await groupIn(tenant, group) } },
    });
    await users.activate(user?.id ?? '');
    return user?.id ?? '';
  };
  for (const cell of cells) {
    const { tenant, state, group, link } = cell;
    const oid = await user(tenant, group);
    made.set(cell, oid);
    const other = tenant === 'Acme' ? 'Globex' : 'Acme';
    const [kind, , linked] = link.split(' ');
    if (linked !== undefined) {
      const relative = await user(other, linked as keyof typeof groups);
      const [parent, child] =
        kind === 'parent'
          ? [
              { tenant, oid },
              { tenant: other, oid: relative },
            ]
          : [
              { tenant: other, oid: relative },
              { tenant, oid },
            ];
      const ref = { tid: tids[parent.tenant] ?? '', userId: parent.oid };
      await service.idp.tenant(tids[child.tenant] ?? '').linking.link(child.oid, ref);
    }
    const { users } = service.idp.tenant(tids[tenant] ?? '');
    if (state === 'disabled') await users.disable(oid);
    if (state === 'invited') {
      const { persons } = service.idp.tenant(tids[tenant] ?? '');
      const invited = await persons.create({ givenName: 'P', familyName: 'I', user: { userName: `invited${tenant}` } });
      made.set(cell, invited.user?.id ?? '');
    }
  }
});

/** Posts a crafted form, and returns the claims of the ID token; undefined without one. */
async function attempt(agent: Agent, operator: string, oid: string, tid: string): Promise<Record<string, unknown> | undefined> {
  const { page } = await support.chooser(operator, {}, agent);
  if (page.location !== undefined) return undefined;
  const answer = await agent.follow(await agent.submit(page, { step: 'start', user: oid, tid, reason: 'matrix', minutes: '1' }));
  if (answer.location === undefined) return undefined;
  const tokens = await support.redeem(answer);
  return tokens.id_token === undefined ? undefined : decodeJwt(tokens.id_token);
}

test.each(Object.keys(operators) as (keyof typeof operators)[])('%s: only allowed cells mint a token', async (operator) => {
  const { name } = operators[operator];
  const { agent } = await support.chooser(name);
  const outcomes: unknown[] = [];
  const expected: unknown[] = [];
  for (const cell of cells) {
    const oid = made.get(cell) ?? '';
    const token = await attempt(agent, name, oid, tids[cell.tenant] ?? '');
    outcomes.push([cell, token !== undefined]);
    expected.push([cell, isAllowed(operator, cell)]);
    if (!token) continue;
    expect(token).toMatchObject({ tid: tids[cell.tenant], amr: ['pwd', 'imp'], act: { tid: tids[cell.tenant] } });
    await support.end(agent);
  }
  expect(outcomes).toEqual(expected);
});

test.each(Object.keys(operators) as (keyof typeof operators)[])(
  '%s: nobody acts as themself, nor as an account that is linked to theirs',
  async (operator) => {
    const { name } = operators[operator];
    const { agent } = await support.chooser(name);
    const [self] = await service.idp.directory.accounts.candidates(name);
    for (const { person, tenant } of self ? await service.idp.directory.accounts.family(self.person) : [])
      expect(await attempt(agent, name, person.user.id, tenant.id)).toBeUndefined();
  },
);
