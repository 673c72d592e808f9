/** Issue 15, 4: an option notifies the target by mail. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdpEvent, type MailMessage } from 'tenant-idp';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { useIdp } from '../support/service/use-idp.js';
import { impersonatingAt, operatorOptions, permission } from '../support/sign-in/impersonating.js';
import { IN_ENGLISH, mailTo } from '../support/sign-in/passwords.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
let context: ExtensionContext;
const watching: Extension = {
  name: 'watching',
  start(given) {
    context = given;
  },
};
const service = useIdp({
  ...operatorOptions,
  impersonation: { permission, notify: true },
  mail: captured.mail,
  extensions: [watching],
});
const started: IdpEvent<'ImpersonationStarted'>[] = [];
beforeAll(() => {
  service.idp.events.on('ImpersonationStarted', (event) => void started.push(event));
});

const KIND = 'impersonation';
const mailsTo = (address: string): readonly MailMessage[] => captured.mails.filter(({ to, kind }) => to === address && kind === KIND);
const accountOf = async (userName: string) => (await service.idp.directory.accounts.candidates(userName))[0];

describe('issue 15: the target is told by mail', () => {
  test('who, of which organisation, when, for which application; not why, which is written for the audit', async () => {
    const { act } = impersonatingAt(service);
    await act('carol@acme.test', { reason: 'Suspected of fraud' });
    const mail = await mailTo(captured, 'carol@acme.test', KIND);
    expect(mail).toMatchObject({ subject: 'Somebody signed in as you at Acme', locale: 'en' });
    const event = await until(() => started.find(({ data }) => data.Reason === 'Suspected of fraud'));
    const minute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(
      new Date(event?.data.StartedAt ?? 0),
    );
    expect(mail.text).toContain(`Otto Test of Acme signed in as carol@acme.test on ${minute} (UTC), to use Web shop.`);
    expect(mail.text + mail.html).not.toContain('fraud');
  });

  test('once, however often the delivery comes', async () => {
    const { act } = impersonatingAt(service);
    await act('alice@acme.test');
    await mailTo(captured, 'alice@acme.test', KIND);
    const target = await accountOf('alice@acme.test');
    const { data } = (await until(() =>
      started.find(({ data: { AggregateId } }) => AggregateId === target?.person.user.id),
    )) as IdpEvent<'ImpersonationStarted'>;
    const {
      ImpersonationId: id,
      AggregateId: oid,
      OperatorId: operatorId,
      ClientId: clientId,
      StartedAt: startedAt,
      EndsAt: endsAt,
    } = data;
    const again = { id, oid, operatorId, clientId, startedAt, endsAt };
    (await context.work.deliver('impersonation.notice', again)).release();
    // An operator who was removed since has no name. This delivery comes after the other one.
    (
      await context.work.deliver('impersonation.notice', { ...again, id: 'another', operatorId: '0197a000-0000-7000-8000-00000000dead' })
    ).release();
    await until(() => mailsTo('alice@acme.test').length > 1);
    expect(mailsTo('alice@acme.test').map(({ text }) => /(Otto Test|Somebody) of Acme/.exec(text)?.[1])).toEqual(['Otto Test', 'Somebody']);
  });

  test('in the language of the tenant, at the address that was proven', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    await service.idp.directory.tenants.update(globex, { locale: 'nb' });
    const bob = await accountOf('bob@globex.test');
    await service.idp.tenant(globex).persons.update(bob?.person.id ?? '', { email: 'new@globex.test' });
    const { act } = impersonatingAt(service);
    await act('bob@globex.test', { operator: 'olga@acme.test' });
    const mail = await mailTo(captured, 'bob@globex.test', KIND);
    expect(mail).toMatchObject({ subject: 'Noen logget inn som deg hos Globex', locale: 'nb' });
    // The mail does not disclose the account to which the operator's account is linked.
    expect(mail.text).toContain('Olga Test hos Globex');
    expect(mail.text).not.toContain('Acme');
    expect(mailsTo('new@globex.test')).toEqual([]);
  });

  test('in the language of the person, if the person has one', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    const bob = await accountOf('bob@globex.test');
    const seen = mailsTo('bob@globex.test').length;
    await service.idp.tenant(globex).persons.update(bob?.person.id ?? '', { locale: 'sv' });
    await impersonatingAt(service).act('bob@globex.test', { operator: 'olga@acme.test' });
    expect((await mailTo(captured, 'bob@globex.test', KIND, seen)).locale).toBe('sv');
    await service.idp.tenant(globex).persons.update(bob?.person.id ?? '', { locale: null });
  });

  test('of a tenant whose language is none of the service, times are in that of the mail', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    await service.idp.directory.tenants.update(globex, { locale: 'fr' });
    const seen = mailsTo('bob@globex.test').length;
    await impersonatingAt(service).act('bob@globex.test', { operator: 'olga@acme.test' });
    expect((await mailTo(captured, 'bob@globex.test', KIND, seen)).text).toMatch(IN_ENGLISH);
  });
});

test('without the option mail, nobody could be told: that is refused at start', async () => {
  const options = { issuer: 'http://localhost:3000', impersonation: { permission, notify: true } };
  await expect(createIdentityProvider(options)).rejects.toMatchObject({
    code: 'invalid_options',
    problems: [{ path: 'impersonation.notify', expected: 'the option mail, by which users are notified: set it, or leave this one out' }],
  });
});
