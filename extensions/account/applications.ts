/**
 * Section of the account page: the applications that the user allowed something, and the applications that the user is signed in to.
 *
 * The list leads to a page for each application, with the form that ends its access. A child account shows its own applications alone.
 */
import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  type Client,
  canParseUrl,
  createOwnPage,
  type ExtensionContext,
  formField,
  type OwnPage,
  ownMember,
  redirectByGet,
  type Text,
  utcDay,
  type ViewPart,
} from '../../lib/extension-door.js';
import { addReturn, type Section } from './section.js';

const pathOf = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/account/applications`;
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'account:applications', pathOf(context.service));

export const applications: Section = {
  name: 'applications',
  title: 'account.applications.title',
  summary: 'account.applications.summary',
  group: 'activity',
  href: ({ service }) => service.url(pathOf(service)),
  clients: (context) => pageOf(context).clients,
  routes(router, context) {
    const { url } = context.service;
    const path = pathOf(context.service);
    const page = pageOf(context);
    const pages = createPages(context, page);

    router.get(path, async (ctx: Context) => {
      const here = await page.present(ctx, path);
      if (here) await pages.list(ctx, here, await applicationsOf(context, here));
    });

    addReturn(router, context, page, path, 'account.applications.title');

    router.get(`${path}/:name`, async (ctx: Context) => {
      const here = await page.present(ctx, `${path}/${encodeURIComponent(String(ctx.params.name))}`);
      if (!here) return;
      const one = (await applicationsOf(context, here)).find((each) => each.name === ctx.params.name);
      // Another tab may have ended the access.
      await (one ? pages.one(ctx, here, one) : redirectByGet(ctx, url(path)));
    });

    router.postForm(path, {
      open: (ctx) => page.present(ctx, path),
      subject: subjectOf,
      // The user may have given access again since the same form was sent.
      isEvaluatedAgain: () => true,
      again: async (ctx, here) => pages.list(ctx, here, await applicationsOf(context, here), 'account.foreign'),
      async take(ctx, here) {
        const name = formField(ctx, 'end');
        const one = (await applicationsOf(context, here)).find((each) => each.name === name);
        if (one && !one.isInternal)
          await context.sessions.endClient(
            { tid: here.account.tenant.id, userId: here.oid },
            one.clientId,
            attributionOf(here, context.http.requestId(ctx)),
          );
        redirectByGet(
          ctx,
          one && !one.isInternal ? page.withNotice(ctx, here, url(path), one.scopes ? 'withdrawn' : 'signed-out') : url(path),
        );
      },
    });
  },
};

/** Texts after the end of an access. */
const doneTexts: Readonly<Record<string, Text>> = {
  withdrawn: 'account.applications.withdrawn',
  'signed-out': 'account.applications.signedOutThere',
};

const subjectOf = ({ session }: BrowserSignIn): string => `applications ${session}`;

/** An application with access to data of the user. */
interface Application {
  readonly clientId: string;
  /** Name of the application in paths and forms: a digest, because an id may have any characters. */
  readonly name: string;
  /** True for an application that signs its users out itself. */
  readonly isInternal?: true;
  /** Client of the application. Undefined for a client that was removed. */
  readonly client: Client | undefined;
  /** Time of the consent, or of the first sign-in without a consent. */
  readonly since: Date;
  /** Scopes of the consent. Absent for a client without a consent. */
  readonly scopes?: readonly string[];
  /** Claims of the consent that the client requested individually. */
  readonly claims?: readonly string[];
}

/** Returns the applications of the user, the latest first. */
async function applicationsOf(
  { directory, sessions, pages }: ExtensionContext,
  { oid, account }: BrowserSignIn,
): Promise<readonly Application[]> {
  const [consents, signedIn] = await Promise.all([directory.consents.find(oid), sessions.clients({ tid: account.tenant.id, userId: oid })]);
  const consented = new Set(consents.map(({ clientId }) => clientId));
  const all: readonly Omit<Application, 'name' | 'client'>[] = [
    ...consents.map(({ clientId, createdAt, scopes, claims = [] }) => ({ clientId, since: createdAt, scopes, claims })),
    ...signedIn
      .filter(({ clientId }) => !consented.has(clientId))
      .map(({ clientId, signedInAt, isInternal }) => ({ clientId, since: signedInAt, ...(isInternal && { isInternal }) })),
  ].sort((one, other) => other.since.getTime() - one.since.getTime());
  const clientOf = ({ clientId, isInternal }: Pick<Application, 'clientId' | 'isInternal'>): Promise<Client | undefined> =>
    isInternal ? pages.application(clientId) : directory.clients.get(clientId);
  return Promise.all(all.map(async (one) => ({ ...one, name: digestOf(one.clientId), client: await clientOf(one) })));
}

const digestOf = (clientId: string): string => createHash('sha256').update(clientId).digest('base64url');

const titleOf = ({ client, clientId }: Application): string => client?.name ?? clientId;

const since = ({ scopes, since: at }: Application): Text => ({
  key: scopes ? 'account.applications.allowed' : 'account.applications.signedIn',
  values: { date: utcDay(at) },
});

/** Returns what the user has to know about the client itself. */
function stateOf({ client }: Application): readonly Text[] {
  if (!client) return ['account.applications.removed'];
  return client.status === 'active' ? [] : ['account.applications.disabled'];
}

/** Returns the address of the application's own page. Metadata may be older than the check of its URLs. */
function addressOf({ client }: Application): string | undefined {
  const { client_uri: uri } = client?.metadata ?? {};
  return typeof uri === 'string' && canParseUrl(uri) && /^https?:$/.test(new URL(uri).protocol) ? uri : undefined;
}

function createPages({ service, pages: { view, brandingOf, scopeDescriptions } }: ExtensionContext, page: OwnPage) {
  const action = service.url(pathOf(service));
  const back: ViewPart = { part: 'link', text: 'account.applications.back', href: action };

  return {
    async list(ctx: Context, here: BrowserSignIn, all: readonly Application[], problem?: Text): Promise<void> {
      const done = ownMember(doneTexts, page.noticeIn(ctx, here) ?? '');
      await view(ctx, {
        ...(await brandingOf(here.account.tenant.id)),
        title: 'account.applications.title',
        lead: all.length > 0 ? 'account.applications.lead' : 'account.applications.none',
        ...(problem !== undefined && { problem, status: 403 }),
        parts: [...(done === undefined ? [] : [{ part: 'text', text: done } as const]), ...(all.length > 0 ? [linksOf(action, all)] : [])],
      });
    },

    async one(ctx: Context, here: BrowserSignIn, application: Application): Promise<void> {
      const { scopes, claims = [] } = application;
      const words = await scopeDescriptions();
      const href = addressOf(application);
      const client = titleOf(application);
      await view(ctx, {
        ...(await brandingOf(here.account.tenant.id)),
        title: { plain: client },
        lead: since(application),
        form: { action, subject: subjectOf(here) },
        parts: [
          ...stateOf(application).map((text) => ({ part: 'text', text }) as const),
          ...(scopes && scopes.length > 0 ? [scopesPart(scopes, words)] : []),
          ...claimParts(claims),
          ...(href === undefined ? [] : [{ part: 'link', text: { key: 'account.applications.about', values: { client } }, href } as const]),
          ...endParts(application),
          back,
        ],
      });
    },
  };
}

type ScopeDescriptions = Awaited<ReturnType<ExtensionContext['pages']['scopeDescriptions']>>;

/** Returns the text and the button that end the access. For an application in which only the user can sign out, returns a text alone. */
function endParts(application: Application): readonly ViewPart[] {
  const { name, scopes, isInternal } = application;
  const values = { client: titleOf(application) };
  if (isInternal) return [{ part: 'text', text: { key: 'account.applications.signOutThere', values } }];
  return [
    { part: 'text', text: { key: scopes ? 'account.applications.ends' : 'account.applications.signsOut', values } },
    {
      part: 'button',
      text: scopes ? 'account.applications.withdraw' : 'account.applications.signOut',
      name: 'end',
      value: name,
      look: scopes ? 'warning' : 'quiet',
    },
  ];
}

const scopesPart = (scopes: readonly string[], words: ScopeDescriptions): ViewPart => ({
  part: 'scopes',
  label: 'account.applications.may',
  scopes: scopes.map((name) => ({ name, ...words.get(name) })),
});

const claimParts = (claims: readonly string[]): readonly ViewPart[] =>
  claims.length === 0
    ? []
    : [
        { part: 'text', text: 'account.applications.claims' },
        { part: 'list', items: claims.map((plain) => ({ plain })) },
      ];

const linksOf = (action: string, all: readonly Application[]): ViewPart => ({
  part: 'links',
  links: all.map((application) => ({
    title: { plain: titleOf(application) },
    lines: [since(application), ...stateOf(application)],
    href: `${action}/${application.name}`,
  })),
});
