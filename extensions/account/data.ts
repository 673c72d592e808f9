/** Section `data` of the account page: the download of all data that the service stores about the person. */
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  knownPart,
  type OwnPage,
  pageHeaders,
  present,
  recordForms,
  strict,
  type Text,
  Type,
} from '../../lib/extension-door.js';
import { addReturn, type Section } from './section.js';

const pathOf = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/account/data`;
/** Returns the parts of the page. The file has all data of the person, so the page requires the same sign-in as a change of a credential. */
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'account:data', pathOf(context.service), 'credentialChange');
const subjectOf = ({ session }: BrowserSignIn): string => `data ${session}`;

export const data: Section = {
  name: 'data',
  group: 'data',
  title: 'account.data.title',
  summary: 'account.data.summary',
  href: ({ service }) => service.url(pathOf(service)),
  clients: (context) => pageOf(context).clients,
  routes(router, context) {
    const { service, limits } = context;
    const path = pathOf(service);
    const page = pageOf(context);
    const downloads = limits.limit('downloadsOfAccount');

    router.get(path, async (ctx: Context) => {
      const here = await page.present(ctx, path);
      if (here) await show(context, ctx, here);
    });

    addReturn(router, context, page, path, 'account.data.title');

    router.postForm(path, {
      open: (ctx) => page.present(ctx, path),
      subject: subjectOf,
      again: (ctx, here) => show(context, ctx, here, { text: 'account.foreign', status: 403 }),
      async take(ctx, here) {
        const counted = await downloads.attempt(here.oid);
        if (counted.isOver) {
          ctx.set('Retry-After', String(counted.seconds));
          const text = { key: 'account.data.often', values: { minutes: String(counted.minutes) } };
          return show(context, ctx, here, { text, status: 429 });
        }
        send(context, ctx, await counted.run(() => dataOf(context, here)));
      },
    });
  },
};

async function show(
  { service, pages }: ExtensionContext,
  ctx: Context,
  here: BrowserSignIn,
  problem?: { readonly text: Text; readonly status: number },
): Promise<void> {
  await pages.view(ctx, {
    ...(await pages.brandingOf(here.account.tenant.id)),
    title: 'account.data.title',
    lead: 'account.data.lead',
    ...(problem && { problem: problem.text, status: problem.status }),
    form: { action: service.url(pathOf(service)), subject: subjectOf(here) },
    parts: [
      { part: 'text', text: 'account.data.secrets' },
      { part: 'button', text: 'account.data.download' },
    ],
  });
}

/** Sends the data as a file. The body is a buffer, so that the service stores no copy of the answer for a form that is sent twice. */
function send({ service }: ExtensionContext, ctx: Context, content: object): void {
  ctx.status = 200;
  ctx.set(pageHeaders(service.issuer, { styles: ["'none'"] }));
  ctx.set('Content-Disposition', 'attachment; filename="account-data.json"');
  ctx.type = 'application/json';
  ctx.body = Buffer.from(`${JSON.stringify(content, undefined, 2)}\n`);
}

const { nationalId: _, ...readable } = recordForms.members.person;
const kept = { id: Type.String(), createdAt: Type.Unknown(), updatedAt: Type.Unknown() };
const personForm = Type.Object({ ...kept, ...readable }, strict);
const ofUser = ['provenEmail', 'status', 'groupIds', 'parentUserId', 'isParent'].map((name) => [name, Type.Unknown()] as const);
const userForm = Type.Object({ id: kept.id, ...recordForms.members.user, ...Object.fromEntries(ofUser) }, strict);

/**
 * Returns the data that the export of the admin API has, for the person: without the ids and the words of other persons. The vouchers, mailed links and
 * derived members of the record are the service's own.
 */
async function dataOf({ directory }: ExtensionContext, { account: { person, tenant } }: BrowserSignIn): Promise<object> {
  const {
    subsidiary,
    person: record,
    user,
    password,
    pendingEmail,
    unreadable,
    ...others
  } = await directory.forTenant(tenant.id).persons.export(person.id, 'person');
  return {
    ...others,
    ...present({ subsidiary, password, pendingEmail, unreadable }),
    person: { ...(knownPart(personForm, record) as object), hasNationalId: record.nationalId !== undefined },
    ...(user && { user: knownPart(userForm, user) }),
  };
}
