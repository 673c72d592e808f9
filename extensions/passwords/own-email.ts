/** Page on which users change their e-mail address, after a recent sign-in. The new address counts after it has been proven. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  Attempt,
  afterAnswer,
  type BrowserSignIn,
  chosenLanguage,
  createOwnPage,
  type DeliveryHandler,
  type ExtensionContext,
  type ExtensionRouter,
  type InternalClients,
  type Mail,
  type OwnPage,
  present,
  problemsOf,
  recordForms,
  recordsOfBrowsers,
  redirectByGet,
  type Text,
  typedField,
  wantedLocale,
} from '../../lib/extension-door.js';
import { proofLetter, stopLetter, takenLetter } from './letters.js';
import { createMessages } from './messages.js';
import { ADDRESS, addressBrowsers, sentNotices, type WantedAddress, wantedAddresses } from './records.js';
import type { Throttle } from './throttle.js';

/** Returns the parts of the page. */
export const ownEmailPage = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'passwords:email', `${context.service.own}/email`, 'credentialChange');

/** Returns the internal application for which users of this page sign in. */
export const ownEmailClient = (context: ExtensionContext): InternalClients => ownEmailPage(context).clients;

function createPages({ service: { own, url }, pages: { view } }: ExtensionContext) {
  const action = url(`${own}/email`);
  return {
    action,

    ask(ctx: Context, { account: { person, tenant }, oid }: BrowserSignIn, value: string, problem?: Text, status = 200): Promise<void> {
      const { email = '' } = person;
      const key = email === '' ? 'passwords.email.none' : 'passwords.email.lead';
      return view(ctx, {
        tenant,
        title: 'passwords.email.title',
        lead: { key, values: { address: email, tenant: tenant.name } },
        status,
        form: { action, subject: subjectOf({ oid }) },
        parts: [
          {
            part: 'field',
            name: 'email',
            label: 'passwords.email.label',
            autocomplete: 'email',
            value,
            ...present({ problem }),
          },
          { part: 'text', text: 'passwords.email.until' },
          { part: 'button', text: 'passwords.email.submit' },
        ],
      });
    },

    sent: (ctx: Context, { account: { tenant } }: BrowserSignIn, address: string): Promise<void> =>
      view(ctx, {
        tenant,
        title: 'passwords.sent.title',
        parts: [
          { part: 'text', text: { key: 'passwords.email.sent', values: { address } } },
          { part: 'text', text: 'passwords.sent.hint' },
        ],
      }),
  };
}

const subjectOf = ({ oid }: Pick<BrowserSignIn, 'oid'>): string => `own email ${oid}`;

export function ownEmailRoutes(router: ExtensionRouter, context: ExtensionContext, throttle: Throttle, ownPage: OwnPage): void {
  const {
    service: { own, url },
    directory,
  } = context;
  if (!context.work.mail) return;
  const messages = createMessages(context);
  const path = `${own}/email`;
  const { action, ask, sent } = createPages(context);

  router.get(path, async (ctx: Context) => {
    const here = await ownPage.present(ctx, path);
    if (here) await ask(ctx, here, '');
  });

  router.get(`${path}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? messages.lost(ctx) : redirectByGet(ctx, url(next));
  });

  router.postForm(path, {
    open: (ctx) => ownPage.present(ctx, path),
    subject: subjectOf,
    again: (ctx, here) => messages.foreign(ctx, { tenant: here.account.tenant }, action),
    refill: (ctx, here) => ask(ctx, here, ''),
    async take(ctx, here) {
      const { person, tenant } = here.account;
      const address = typedField(ctx, 'email', 'address');
      if (problemsOf(recordForms.person.email, address).length > 0) return ask(ctx, here, address, 'passwords.email.invalid', 400);
      if (address === person.email && person.user.emailVerified) return ask(ctx, here, address, 'passwords.email.same', 400);
      const attempt = new Attempt();
      const minutes = await throttle.request(attempt, `email of ${here.oid} ${directory.accounts.nameKey(address)}`, ctx.ip);
      const often = minutes ?? ((await throttle.isTooMany(attempt, `email of ${here.oid}`)) ? 60 : undefined);
      if (often !== undefined) return messages.often(ctx, { tenant }, often);
      await attempt.run(() => enqueue(ctx, context, here, address));
      await sent(ctx, here, address);
    },
  });
}

/** Enqueues the mail to an address, and starts it after the answer. So the time of the page does not show whether an account has the address. */
async function enqueue(ctx: Context, context: ExtensionContext, here: BrowserSignIn, address: string): Promise<void> {
  const {
    records: { artifact },
    work: { deliver },
    directory,
    service: { lifetimes },
  } = context;
  const id = randomUUID();
  const locale = wantedLocale(
    { uiLocales: chosenLanguage(ctx, context), acceptLanguage: ctx.get('accept-language') },
    context.service.locales,
  );
  // The link is mailed later than this request by at most the time for which the requested address waits.
  const lifetimeSeconds = wantedAddresses.lifetimeSeconds + lifetimes.emailProof;
  const askedWith = await context.signIn.proofOf(ctx, here, { lifetimeSeconds });
  const vouchedBy = await directory.means.ofSignIn(here, here.account);
  await artifact(wantedAddresses).put(id, {
    oid: here.oid,
    address,
    askedWith,
    ...(vouchedBy && { vouchedBy }),
    ...(locale && { locale }),
  } satisfies WantedAddress);
  await recordsOfBrowsers(context, addressBrowsers).put(ctx, id, {}, { lifetimeSeconds: lifetimes.emailProof });
  const sending = await deliver(ADDRESS, { id });
  afterAnswer(ctx, () => sending.release());
}

/**
 * Returns the delivery that notifies the former address first. Then the delivery mails to the new address: the link that proves it, or a notice that the
 * address belongs to another account. So no user gets the link before the former address was notified.
 */
export const createSendProof =
  (context: ExtensionContext, mail: Mail): DeliveryHandler =>
  async ({ data }) => {
    const requestId = String(data.id);
    const request = (await context.records.artifact(wantedAddresses).read(requestId)) as WantedAddress | undefined;
    if (!request) return;
    const { oid, address, askedWith, vouchedBy, locale } = request;
    const due = await context.directory.emailProofs.begin(oid, { requestId, address, askedWith, ...(vouchedBy && { vouchedBy }) });
    if (due?.stop && (await context.records.artifact(sentNotices).read(requestId)) === undefined) {
      await mail.send(stopLetter(due, due.stop));
      await context.records.artifact(sentNotices).put(requestId, {});
    }
    if (due) await mail.send(due.holder ? takenLetter(due, due.holder, locale) : proofLetter(due, locale));
    await context.records.artifact(wantedAddresses).remove(requestId);
  };
