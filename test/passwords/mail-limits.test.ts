/** Rate limits of mails: a person who only knows an address cannot use up the mails that notify its user of changes to the account. */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { forget, mailTo, NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { until } from '../support/time/until.js';

type Cause =
  /** A person who only knows the address, or an administrator of another tenant. */
  | 'a stranger'
  /** The user, an administrator of the tenant, or the service. */
  | 'the account';

/** Every kind of letter: who can cause it, and the limits that its letters count for. */
const letters: Readonly<Record<string, { readonly by: readonly Cause[]; readonly limits: readonly string[] }>> = {
  registration: { by: ['a stranger'], limits: ['anybody'] },
  'account-exists': { by: ['a stranger'], limits: ['anybody'] },
  // An administrator of the tenant sends a reset link too.
  'password-reset': { by: ['a stranger', 'the account'], limits: ['account', 'anybody'] },
  // Each user may request the address of another person.
  'email-proof': { by: ['a stranger'], limits: ['anybody'] },
  'email-taken': { by: ['a stranger'], limits: ['anybody'] },
  // Each tenant may invite each address.
  invitation: { by: ['a stranger'], limits: ['anybody'] },
  // Each application that names the user may request an approval.
  ciba: { by: ['a stranger'], limits: ['anybody'] },
  'email-change': { by: ['the account'], limits: ['account'] },
  'account-changed': { by: ['the account'], limits: ['account', 'frequent'] },
  'new-browser': { by: ['the account'], limits: ['account'] },
  impersonation: { by: ['the account'], limits: ['account'] },
};

test('each letter that a stranger can cause counts for a limit of its own, and no other letter does', () => {
  const files = readdirSync('extensions', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const found = new Map<string, Set<string>>();
  for (const name of files) {
    const source = readFileSync(`extensions/${name}`, 'utf8');
    for (const [, condition = '', one = '', other, limits = ''] of source.matchAll(
      /\bkind: (\w+ \? )?'([\w-]+)'(?: : '([\w-]+)')?,\s*rateLimit: ((?:[^,{}]|'[^']*')+)/g,
    )) {
      const named = [...limits.matchAll(/'(account|anybody|frequent)'/g)].map(([, limit]) => limit as string);
      for (const kind of [one, ...(condition !== '' && other !== undefined ? [other] : [])])
        found.set(kind, new Set([...(found.get(kind) ?? []), ...named]));
    }
  }
  expect(Object.fromEntries([...found].map(([kind, limits]) => [kind, [...limits].toSorted()]))).toEqual(
    Object.fromEntries(Object.entries(letters).map(([kind, { limits }]) => [kind, limits])),
  );
  for (const [kind, { by, limits }] of Object.entries(letters))
    expect([kind, limits.includes('anybody'), limits.some((limit) => limit !== 'anybody')]).toEqual([
      kind,
      by.includes('a stranger'),
      by.includes('the account'),
    ]);
});

const captured = captureMail();
const service = useIdp({ mail: captured.mail, limits: { signInFailuresPerAddress: 100_000 } });
let acme: string;
let globex: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});

async function userAt(tid: string, email: string): Promise<string> {
  const user = { userName: email, emailVerified: true, status: 'active' as const };
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'Own', familyName: 'Er', email, user });
  const oid = made.user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return oid;
}
const mailsOf = (address: string, kinds: readonly string[]) =>
  captured.mails.filter(({ to, kind }) => to === address && kinds.includes(kind));

test('public forms that use up their mails to an address leave the mails about changes', async () => {
  const address = 'known@mail.test';
  const oid = await userAt(acme, address);
  for (let count = 0; count < 3; count += 1) {
    const agent = new Agent();
    const page = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}` })),
    );
    await agent.submit(page, { givenName: 'N', familyName: 'N', email: address, password: NEW_PASSWORD });
    await forget(service.issuer, address);
  }
  const asked = ['registration', 'account-exists', 'password-reset'];
  await until(() => mailsOf(address, asked).length === 5);
  await service.idp.tenant(acme).credentials.setPassword(oid, NEW_PASSWORD);
  expect((await mailTo(captured, address, 'account-changed')).subject).toBe('Your password was changed');
  expect(mailsOf(address, asked)).toHaveLength(5);
});

test('another tenant that uses up its mails to an address leaves the mails of the tenant', async () => {
  const address = 'shared@mail.test';
  const [ours, theirs] = [await userAt(acme, address), await userAt(globex, address)];
  for (let count = 0; count < 6; count += 1) await service.idp.tenant(globex).credentials.setPassword(theirs, `${NEW_PASSWORD} ${count}`);
  await until(() => mailsOf(address, ['account-changed']).length === 5);
  await service.idp.tenant(acme).credentials.setPassword(ours, NEW_PASSWORD);
  await until(() => mailsOf(address, ['account-changed']).some(({ tid }) => tid === acme));
  expect(mailsOf(address, ['account-changed']).map(({ tid }) => tid === acme)).toEqual([false, false, false, false, false, true]);
});
