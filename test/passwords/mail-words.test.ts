/** T3-MAIL-WORDS, PG-MAILNAME: a mail contains no text of the person who asked for it on a page. */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import type { MailMessage } from 'tenant-idp';
import { standardExtensions } from '../../extensions/index.js';
import { adminClient, administer, adminScopes, adminSeed, adminToken } from '../support/administration/admin.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, signIn } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { cibaClient, createAsking } from '../support/sign-in/ciba.js';
import { enrol } from '../support/sign-in/factors.js';
import { forget, mailTo, NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { until } from '../support/time/until.js';

/** Text of a person who wants the service to send it to another person. The second text fits into an address. */
const MARKER = 'Go to https://evil.test/unlock now!';
const IN_AN_ADDRESS = 'evil.test/unlock';

const captured = captureMail();
const asking = createAsking(() => service.idp);
const service = useIdp({
  extensions: [asking.extension],
  seed: { ...adminSeed, clients: [...adminSeed.clients, adminClient('everything', ['*'], adminScopes), cibaClient('desk')] } as never,
  mail: captured.mail,
  ciba: { email: true },
  limits: { signInFailuresPerAddress: 100_000 },
});
let acme: string;
let globex: string;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
  await service.idp.directory.tenants.update(acme, { signIn: { selfRegistration: true } });
});

/** Kinds of letters from an administrator, or from a page of a support agent. These letters name persons and the purpose. */
const named = ['invitation', 'impersonation'];
/** Texts of these letters, and of the reset link that an administrator has sent. */
const namedTexts = /^(?:invitations\.mail|impersonation\.mail|passwords\.mail\.sent)\./;

test('T3-MAIL-WORDS: no text of a mail has a place for a word of the person, but for those of administrators', () => {
  const english: Readonly<Record<string, string>> = Object.assign({}, ...standardExtensions().map(({ texts }) => texts?.en));
  const mails = Object.entries(english).filter(([key]) => key.includes('.mail.'));
  expect(mails.length).toBeGreaterThan(40);
  // `{parts}` names parts of a profile, in words of the service, and `{browser}` has names of a table.
  const ours = new Set(['{tenant}', '{client}', '{time}', '{parts}', '{browser}']);
  const others = mails.filter(([key, text]) => !namedTexts.test(key) && (text.match(/\{\w+\}/g) ?? []).some((place) => !ours.has(place)));
  expect(others).toEqual([]);
});

let count = 0;
/** Creates a user whose names contain the marker, at an address of another person. */
async function hostile(tid = acme, more: Record<string, unknown> = {}) {
  count += 1;
  const email = `victim-${count}@mail.test`;
  const made = await service.idp.tenant(tid).persons.create({
    givenName: MARKER,
    familyName: MARKER,
    email,
    locale: 'fi',
    user: { userName: `${count} ${MARKER}`, status: 'active', ...more },
  });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { email, oid, personId: made.id, userName: `${count} ${MARKER}` };
}

async function ownEmail(userName: string, wanted: string) {
  const agent = new Agent();
  const first = await agent.follow(await agent.get(`${service.issuer}/idp/email`));
  const form = await agent.follow(await agent.submit(await agent.submit(first, { identifier: userName }), { password: 'old' }));
  return agent.submit(form, { email: wanted });
}

async function createAccount(email: string) {
  const agent = new Agent();
  const page = await agent.follow(
    await agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'create', acr_values: `tenant:${acme}`, state: MARKER })),
  );
  await agent.submit(page, { givenName: MARKER, familyName: MARKER, email, password: NEW_PASSWORD });
}

/**
 * Functions that cause each kind of letter, with the marker in every field into which users type. Each function returns the address of its
 * letter.
 */
const letters: Readonly<Record<string, () => Promise<string>>> = {
  async registration() {
    const email = `new+${IN_AN_ADDRESS}@mail.test`;
    await createAccount(email);
    return email;
  },
  async 'account-exists'() {
    const email = `there+${IN_AN_ADDRESS}@mail.test`;
    await service.idp
      .tenant(acme)
      .persons.create({ givenName: MARKER, familyName: MARKER, locale: 'fi', user: { userName: email, status: 'active' } });
    await createAccount(email);
    return email;
  },
  async 'password-reset'() {
    const { email, userName } = await hostile();
    await forget(service.issuer, userName);
    return email;
  },
  async 'email-proof'() {
    const { userName } = await hostile();
    const wanted = `wanted+${IN_AN_ADDRESS}@mail.test`;
    await ownEmail(userName, wanted);
    return wanted;
  },
  async 'email-change'() {
    const { email, userName } = await hostile(acme, { emailVerified: true });
    await ownEmail(userName, `changed+${IN_AN_ADDRESS}@mail.test`);
    return email;
  },
  async 'email-taken'() {
    const taken = `taken+${IN_AN_ADDRESS}@mail.test`;
    const { persons } = service.idp.tenant(acme);
    const of = (address: string) => ({ email: address, user: { userName: address, status: 'active' as const } });
    await persons.create({ givenName: 'T', familyName: 'T', locale: 'fi', ...of(taken) });
    const email = `own+${IN_AN_ADDRESS}@mail.test`;
    const made = await persons.create({ givenName: MARKER, familyName: MARKER, locale: 'sv', ...of(email) });
    await service.idp.directory.credentials.seedPassword(made.user?.id as string, 'old');
    await ownEmail(email, taken);
    return taken;
  },
  async ciba() {
    const { email, userName } = await hostile();
    await asking.ask(userName, { bindingMessage: MARKER, uiLocales: 'en' });
    return email;
  },
  async 'new-browser'() {
    const { email, userName } = await hostile();
    for (const agent of [new Agent(), new Agent({ 'user-agent': `Firefox/140.0 ${MARKER}`, 'sec-ch-ua-platform': MARKER })])
      await signIn(agent, authorizeUrl(service.issuer, { ...pkce }), userName, 'old');
    return email;
  },
  async 'account-changed'() {
    const { email, oid, userName } = await hostile();
    const parent = await hostile(globex);
    await enrol(new Agent(), authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' }), userName, 'old');
    await service.idp.tenant(acme).users.update(oid, { externalIdentities: [{ idp: 'elsewhere', subject: MARKER }] });
    await service.idp.tenant(acme).credentials.setPassword(oid, NEW_PASSWORD);
    await service.idp.tenant(acme).linking.link(oid, { tid: globex, userId: parent.oid });
    await service.idp.tenant(acme).linking.unlink(oid, parent.oid);
    await until(
      () => captured.mails.filter(({ to }) => to === parent.email),
      (all) => all.length === 2,
    );
    return email;
  },
};

test('T3-MAIL-WORDS: the list names every kind of letter that there is', () => {
  const files = readdirSync('extensions', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const withoutComments = (source: string): string => source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const code = files.map((name) => withoutComments(readFileSync(`extensions/${name}`, 'utf8')));
  const sources = code.filter((source) => source.includes('Letter'));
  const kinds = new Set(
    sources.flatMap((source) => [...source.matchAll(/\bkind: (?:isTaken \? )?'([\w-]+)'(?: : '([\w-]+)')?/g)].flatMap(([, ...all]) => all)),
  );
  kinds.delete(undefined as never);
  expect([...kinds].toSorted()).toEqual([...Object.keys(letters), ...named].toSorted());
});

const read = ({ to: _, ...mail }: MailMessage): string => JSON.stringify(mail);

test.each(Object.keys(letters))(
  'T3-MAIL-WORDS, PG-MAILNAME: %s says nothing that was typed, in the language of its person',
  async (kind) => {
    const seen = captured.mails.length;
    const to = await (letters[kind] as () => Promise<string>)();
    const { locale } = await mailTo(captured, to, kind);
    // A new account has no person yet.
    expect(locale).toBe(kind === 'registration' ? 'en' : 'fi');
    for (const mail of captured.mails.slice(seen))
      for (const marker of ['evil.test', 'Go to', 'now!']) expect(read(mail)).not.toContain(marker);
  },
);

test('a link that an administrator has sent, and an invitation, name the person', async () => {
  const root = administer(service.issuer, await adminToken(service.issuer, 'everything'));
  const { email, oid } = await hostile();
  expect((await root.post(`/tenants/${acme}/users/${oid}/password-reset`)).status).toBe(204);
  const sent = await mailTo(captured, email, 'password-reset');
  expect([sent.text.includes(`Hei ${MARKER},`), sent.text.includes('Acme')]).toEqual([true, true]);
  await service.idp
    .tenant(acme)
    .invitations.createPerson(
      { givenName: 'Gina', familyName: 'G', email: 'gina@mail.test', user: { userName: 'gina@mail.test' } },
      { send: true },
    );
  expect((await mailTo(captured, 'gina@mail.test', 'invitation')).text).toContain('Hello Gina,');
});
