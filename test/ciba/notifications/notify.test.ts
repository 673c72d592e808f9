/** Notification of users about requests: by the host's push or SMS, and by mail. @see design 9 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { type CibaNotification, createIdentityProvider, type MailMessage } from 'tenant-idp';
import { Agent, titleOf } from '../../support/client/agent.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { askedPeople, cibaClient, createAsking } from '../../support/sign-in/ciba.js';
import { submit } from '../../support/sign-in/factors.js';
import { until } from '../../support/time/until.js';

const names = Array.from({ length: 8 }, (_, index) => `person${index}`);
const [acme, globex] = testSeed.tenants;
const asking = createAsking(() => service.idp);
const told: CibaNotification[] = [];
const mails: MailMessage[] = [];
/** The host's reaction to a notification. */
let push: (notification: CibaNotification, signal: AbortSignal) => unknown = () => {};
const service = useIdp({
  extensions: [asking.extension],
  mail: { send: async (mail) => void mails.push(mail) },
  ciba: {
    notify(notification, signal) {
      told.push(notification);
      return push(notification, signal);
    },
    email: true,
  },
  seed: {
    ...testSeed,
    tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...askedPeople('acme.test', names)] }, globex],
    clients: [...testSeed.clients, cibaClient('desk')],
  } as never,
});

let next = 0;
let name: string;
let me: string;
beforeEach(() => {
  name = names[next++] ?? '';
  me = `${name}@acme.test`;
  push = () => {};
});

const { ask } = asking;
const toldOf = (id: string, count = 1) =>
  until(
    () => told.filter((one) => one.id === id),
    (found) => found.length >= count,
  );
const mailTo = (address: string) => until(() => mails.find(({ to }) => to === address));

describe('ciba.notify', () => {
  test('gets who is asked, by whom, for what, and the page to answer on', async () => {
    const { request } = await ask(me, {
      bindingMessage: '*W4SCT*',
      messageFormat: 'simpleMarkdownV1',
      initiator: 'RP',
      uiLocales: 'nb',
      acrValues: 'mfa',
    });
    const [notification] = await toldOf(request.id);
    expect(notification).toEqual({
      id: request.id,
      url: `${service.issuer}/idp/ciba/requests/${request.id}`,
      oid: request.oid,
      tid: request.tid,
      userName: me,
      givenName: name,
      familyName: 'P',
      email: me,
      clientId: 'desk',
      clientName: 'The desk',
      bindingMessage: '*W4SCT*',
      bindingMessageFormat: 'simpleMarkdownV1',
      callInitiator: 'RP',
      acrValues: 'mfa',
      scopes: ['openid'],
      uiLocales: 'nb',
      createdAt: request.createdAt,
      expiresAt: request.expiresAt,
    });
  });

  test('its page asks for a sign-in, and shows the request then', async () => {
    const { request } = await ask(me);
    const [notification] = await toldOf(request.id);
    const agent = new Agent();
    const page = await agent.follow(await agent.get(notification?.url ?? ''));
    expect(page.body).not.toContain('The desk asks you to sign in');
    const shown = await submit(agent, await submit(agent, page, { identifier: me }), { password: name });
    expect(titleOf(shown)).toBe('The desk asks you to sign in');
  });

  test('what it rejects or throws comes again, as long as the request waits; the request is none the worse', async () => {
    let failures = 0;
    push = ({ userName }) => {
      if (userName !== me || failures++ > 0) return undefined;
      throw new Error(`the push service knows no ${userName}`);
    };
    const { request } = await ask(me);
    await toldOf(request.id, 2);
    expect((await asking.requests.read(request.id))?.state).toBe('pending');
    expect(service.lines.some((line) => JSON.stringify(line).includes('failed to notify a user of an authentication request'))).toBe(true);
  });

  test('a request that was answered is not told of any more', async () => {
    let isAnswered = false;
    push = async ({ id, userName }) => {
      if (userName !== me) return;
      await asking.requests.deny(id, 'host');
      isAnswered = true;
      throw new Error('not now');
    };
    const { request } = await ask(me);
    await until(() => isAnswered);
    // The delivery of another request comes after the attempt that the first request does not get.
    const waiting = () => service.idp.directory.deliveries.dead();
    const other = await ask('bob@globex.test');
    await toldOf(other.request.id);
    expect([told.filter(({ id }) => id === request.id).length, await waiting()]).toEqual([1, []]);
  });

  const proof = process.env.PROVE ? test : test.skip;
  proof('one that hangs is given up after ten seconds, told so by its signal, and called again', async () => {
    let aborted = 0;
    push = (_, signal) => new Promise(() => signal.addEventListener('abort', () => (aborted += 1)));
    const { request } = await ask(me);
    await toldOf(request.id, 2);
    expect(aborted).toBeGreaterThan(0);
  });
});

describe('ciba.email', () => {
  test('mails a link to the request, in its language, without the message of the client', async () => {
    const { request } = await ask(me, { bindingMessage: 'compare me', uiLocales: 'de' });
    const { kind, subject, text, html, locale, clientId, tid } = (await mailTo(me)) as MailMessage;
    expect({ kind, subject, locale, clientId, tid }).toEqual({
      kind: 'ciba',
      subject: 'The desk bittet Sie, sich anzumelden',
      locale: 'de',
      clientId: 'desk',
      tid: request.tid,
    });
    expect(text).toContain(`${service.issuer}/idp/ciba/requests/${request.id}`);
    expect(text).toContain('UTC');
    expect(text + html).not.toContain('compare me');
  });

  test('needs the option mail', async () => {
    await expect(createIdentityProvider({ issuer: 'http://localhost:3000', ciba: { email: true } })).rejects.toMatchObject({
      problems: [expect.objectContaining({ path: 'ciba.email' })],
    });
  });
});
