/**
 * Mail of the service: design §1, threat G9. The host's transport gets a finished mail, with the look of the client and in the language
 * of the receiver.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { MailMessage } from 'tenant-idp';
import { locales } from 'tenant-idp/extension';
import { acceptIn, captureMail, invite, invitingSeed, linkIn, tenantNamed } from '../support/administration/invitations.js';
import { recordedEvents } from '../support/administration/recorded-events.js';
import { Agent, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { IN_ENGLISH } from '../support/sign-in/passwords.js';
import { dumpedMemoryArtifacts, dumpedMemoryDirectory } from '../support/stores/dumps.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
let fails = 0;
const tried: MailMessage[] = [];
const mail = {
  async send(message: MailMessage) {
    tried.push(message);
    if (fails > 0) {
      fails -= 1;
      throw new Error(`550 ${message.to} is not at home: ${linkIn(message)}`);
    }
    await captured.mail.send(message);
  },
};
const [directory, artifacts] = [dumpedMemoryDirectory(), dumpedMemoryArtifacts()];
const service = useIdp({ seed: invitingSeed as never, mail, directory: directory.store, artifacts: artifacts.store });
afterEach(() => {
  fails = 0;
});

describe('4.12 the service sends the invitation', () => {
  test('as text and HTML, with what the host may want to know of it', async () => {
    const { userName, tid } = await invite(service.idp, { send: true, clientId: 'portal', locale: 'en' });
    const message = await captured.to(userName);
    expect(message).toMatchObject({
      to: userName,
      subject: 'Your invitation to Acme',
      kind: 'invitation',
      locale: 'en',
      tid,
      clientId: 'portal',
    });
    expect(message.text).toContain('Hello Gina,');
    expect(message.text).toContain('Acme invites you to The portal.');
    expect(message.text).toMatch(/works once, until .*2\d{3}.* \(UTC\)/);
    expect(message.html).toContain(`href="${linkIn(message)}"`);
  });

  test('the mail has the tenant’s and client’s look, and loads nothing from elsewhere', async () => {
    const { idp } = service;
    await idp.directory.tenants.update(await tenantNamed(idp, 'Globex'), {
      branding: { accentColor: '#005533', logoUri: 'https://logo.test/x.png' },
    });
    const ofClient = await invite(idp, { send: true, clientId: 'portal' });
    const ofTenant = await invite(idp, { tenant: 'Globex', send: true });
    const plain = await invite(idp, { send: true });
    const html = async ({ userName }: typeof plain) => (await captured.to(userName)).html;
    expect(
      [await html(ofClient), await html(ofTenant), await html(plain)].map((each) => /border-top:4px solid (#\w{6})/.exec(each)?.[1]),
    ).toEqual(['#aa3300', '#005533', '#4450b8']);
    for (const each of [await html(ofClient), await html(ofTenant)]) expect(each).not.toMatch(/<img|<script|<link|url\(|src=|@import/i);
  });

  test.each(locales)('in %s, with all of its words', async (locale) => {
    const { userName, url: _ } = await invite(service.idp, { send: true, clientId: 'portal', locale });
    const message = await captured.to(userName);
    expect(message.locale).toBe(locale);
    expect(message.html).toContain(`<html lang="${locale}">`);
    expect(`${message.subject}${message.text}${message.html}`).not.toMatch(/\{\w+\}|invitations\.mail/);
  });

  test('language: the invitation’s, else the tenant’s, else the first of locales', async () => {
    const { idp } = service;
    const globex = await tenantNamed(idp, 'Globex');
    await idp.directory.tenants.update(globex, { locale: 'sv' });
    const localeOf = async (input: Parameters<typeof invite>[1]) =>
      (await captured.to((await invite(idp, { send: true, ...input })).userName)).locale;
    expect([
      await localeOf({ tenant: 'Globex', locale: 'da' }),
      await localeOf({ tenant: 'Globex', locale: 'fr' }),
      await localeOf({ tenant: 'Globex' }),
      await localeOf({}),
    ]).toEqual(['da', 'sv', 'sv', 'en']);
    await idp.directory.tenants.update(globex, { locale: null });
  });

  test.each(['fr', 'abcd'])('a tenant whose locale is %s gets its mail, with times in the language of the mail', async (locale) => {
    const globex = await tenantNamed(service.idp, 'Globex');
    // The value was stored when any text was accepted.
    const tenants = directory.store.collection('tenants');
    await tenants.update(globex, (row) => ({ ...row, locale }));
    await until(async () => (await service.idp.directory.tenants.get(globex))?.locale === locale);
    const { userName } = await invite(service.idp, { tenant: 'Globex', send: true });
    const message = await captured.to(userName);
    expect([message.locale, message.text]).toEqual(['en', expect.stringMatching(IN_ENGLISH)]);
    await service.idp.directory.tenants.update(globex, { locale: null });
  });

  test('names are no markup', async () => {
    const { userName } = await invite(service.idp, { send: true }, { givenName: '<img src=x>"&' });
    const { html, text } = await captured.to(userName);
    expect([html.includes('<img'), html.includes('&lt;img src=x&gt;'), text.includes('<img src=x>"&')]).toEqual([false, true, true]);
  });

  test('InvitationSent once the host took it', async () => {
    const { invitation, userName } = await invite(service.idp, { send: true });
    await captured.to(userName);
    const sent = async () => (await recordedEvents(directory.store, 'InvitationSent')).filter(({ subject }) => subject === invitation.id);
    await until(async () => (await sent()).length > 0);
    expect(await sent()).toHaveLength(1);
  });
});

describe('a mail that was not taken', () => {
  test('comes again with the same link, and neither the queue nor the events have the link or the host’s words', async () => {
    fails = 1;
    const { userName } = await invite(service.idp, { send: true });
    await until(() => tried.some(({ to }) => to === userName));
    const kept = JSON.stringify(await Promise.all([directory.dump(), artifacts.dump()]));
    const [first] = tried.filter(({ to }) => to === userName);
    expect(first).toBeDefined();
    const secret = linkIn(first as MailMessage)
      .split('.')
      .at(-1) as string;
    expect([secret.length, kept.includes(secret), kept.includes('is not at home')]).toEqual([43, false, false]);
    const message = await captured.to(userName);
    expect(linkIn(message)).toBe(linkIn(first as MailMessage));
    expect(titleOf(await new Agent().get(linkIn(message)))).toBe('Welcome to Acme');
  });

  test('of a link that was replaced meanwhile is not sent at all', async () => {
    fails = 1;
    const { userName, invitations, invitation } = await invite(service.idp, { send: true });
    await until(() => tried.some(({ to }) => to === userName));
    await invitations.resend(invitation.id);
    await captured.to(userName);
    // The first delivery is retried, and is dropped.
    await until(async () => (await directory.store.collection('deliveries').find({})).length === 0);
    const sent = captured.mails.filter(({ to }) => to === userName);
    expect([sent.length, titleOf(await new Agent().get(linkIn(sent[0] as MailMessage)))]).toEqual([1, 'Welcome to Acme']);
  });

  test('at most five an hour go to one address', async () => {
    const { userName, invitations, invitation } = await invite(service.idp, { send: true });
    for (let times = 1; times < 7; times += 1) await invitations.resend(invitation.id);
    await sleep(1_000);
    expect(captured.mails.filter(({ to }) => to === userName).length).toBeLessThanOrEqual(5);
    expect((await service.idp.directory.deliveries.dead()).length).toBe(0);
  });
});

describe('G9 nothing that is kept opens an invitation', () => {
  test('mailed, fetched, half accepted and accepted: a copy of both stores has no secret of a link', async () => {
    const [one, two] = [await invite(service.idp, { send: true }), await invite(service.idp, {})];
    const links = [linkIn(await captured.to(one.userName)), two.url];
    const agent = new Agent();
    await agent.get(links[0] as string);
    await acceptIn(agent, links[0] as string);
    await acceptIn(new Agent(), links[1] as string, { password: 'short' });
    const kept = JSON.stringify(await Promise.all([directory.dump(), artifacts.dump()]));
    expect(kept).toContain(two.invitation.id);
    for (const link of links) expect(kept).not.toContain(link.split('.').at(-1) as string);
  });
});
