import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { send } from '../../support/client/send.js';
import { authorizationOf } from '../../support/client/steps.js';
import { expectQuietLog } from '../../support/service/leaks.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

/** A caller, with the scopes and tenants that it may ask about. Undefined stands for all. */
interface Caller {
  readonly id: string;
  readonly scopes?: readonly string[];
  readonly tenants?: readonly string[];
}

const callers: readonly Caller[] = [
  { id: 'orders' },
  { id: 'acme-api', tenants: ['Acme'] },
  { id: 'nowhere-api', tenants: [] },
  { id: 'all-client', scopes: ['openid', 'profile', 'email', 'perms'] },
  { id: 'narrow-client', scopes: ['openid', 'profile'] },
  { id: 'globex-client', scopes: ['openid', 'perms'], tenants: ['Globex'] },
];

interface Account {
  readonly id: string;
  readonly sub: string;
  readonly tenant: string;
  readonly isUsable: boolean;
}
let accounts: Account[];
let tids: Record<string, string>;

const service = useIdp(() => {
  const more = ({ id, scopes, tenants }: Caller) => ({
    id,
    name: id,
    secret: `${id}-secret`,
    ...(tenants ? { allowedTenants: [...tenants] } : {}),
    ...(scopes ? { allowedScopes: [...scopes] } : { scopes: [] }),
  });
  const added = callers.filter(({ id }) => id !== 'orders');
  return {
    seed: {
      ...testSeed,
      clients: [...testSeed.clients, ...added.filter(({ scopes }) => scopes).map((caller) => more(caller) as never)],
      apiResources: [...testSeed.apiResources, ...added.filter(({ scopes }) => !scopes).map((caller) => more(caller) as never)],
    },
  };
});
beforeAll(async () => {
  const { directory } = service.idp;
  tids = Object.fromEntries((await directory.tenants.find()).map(({ id, name }) => [name, id]));
  const named = async (userName: string) => {
    const [account] = await directory.accounts.candidates(userName);
    return { id: account?.person.user.id ?? '', tenant: account?.tenant.name ?? '', isUsable: true };
  };
  const [parent, child, bob, carol] = [
    await named('alice@acme.test'),
    await named('alice@globex.test'),
    await named('bob@globex.test'),
    await named('carol@acme.test'),
  ];
  await service.idp.tenant(tids.Acme as string).users.disable(carol.id);
  accounts = [
    { ...parent, sub: parent.id },
    { ...child, sub: parent.id },
    { ...bob, sub: bob.id },
    { ...carol, sub: carol.id, isUsable: false },
  ];
});

const identityScopes = ['openid', 'profile', 'email', 'perms'];

/** Returns the answer that the rules require: the account that is visible, or a status and an error. */
function expected(caller: Caller, sub: string, tid: string | undefined, scope = 'perms'): Account | readonly [number, string] {
  const scopes = scope.split(' ');
  if (!scopes.every((name) => identityScopes.includes(name))) return [400, 'invalid_scope'];
  if (!scopes.every((name) => caller.scopes?.includes(name) ?? true)) return [403, 'insufficient_scope'];
  const visible = accounts.filter(
    (account) =>
      [account.id, account.sub].includes(sub) &&
      account.isUsable &&
      (caller.tenants?.includes(account.tenant) ?? true) &&
      (tid === undefined || tids[account.tenant] === tid),
  );
  return visible.length > 1 ? [400, 'tid_required'] : (visible[0] ?? [404, 'not_found']);
}

test('E6: every caller × user × tenant × scope is answered by the rules, and what is refused tells nothing', async () => {
  const refusals = new Map<string, string>();
  let answered = 0;
  const questions = callers.flatMap((caller) =>
    [...accounts.map(({ id }) => id), randomUUID(), 'alice@acme.test'].flatMap((sub) =>
      [undefined, tids.Acme, tids.Globex, randomUUID()].flatMap((tid) =>
        [undefined, 'openid', 'profile email', 'orders.read', 'openid unknown'].map((scope) => ({ caller, sub, tid, scope })),
      ),
    ),
  );
  for (const { caller, sub, tid, scope } of questions) {
    const given = Object.entries({ sub, tid, scope }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const url = `${service.issuer}/connect/scope/introspect?${new URLSearchParams(given)}`;
    const { status, text } = await send(url, { headers: authorizationOf(caller.id) });
    const { error, sub: answeredSub, tid: answeredTid } = JSON.parse(text);
    const rule = expected(caller, sub, tid, scope);
    const want = 'id' in rule ? [200, undefined, rule.sub, tids[rule.tenant]] : [...rule, undefined, undefined];
    expect({ caller: caller.id, given, is: [status, error, answeredSub, answeredTid] }).toEqual({
      caller: caller.id,
      given,
      is: want,
    });
    if (status === 200) answered += 1;
    else expect(text).toBe(refusals.get(error) ?? text);
    if (error) refusals.set(error, text);
  }
  expect(answered).toBeGreaterThan(40);
  expect([...refusals.keys()].sort()).toEqual(['insufficient_scope', 'invalid_scope', 'not_found', 'tid_required']);
});

test('E6 leaves nothing in the log', () => expectQuietLog(service));
