/**
 * A person connects an identity to the account that they have: they proved the identity at the provider, and sign in to the account, by the pages and
 * requirements of every sign-in. Then they are asked, and then the identity is recorded.
 */
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type Interaction,
  type InternalClients,
  type PostForm,
  present,
  redirectByGet,
  type SignInAsk,
} from '../../../lib/extension-door.js';
import { type ConnectionBook, isActive } from '../book.js';
import type { Pages } from '../pages.js';
import { type Connection, type Stranger, strangers } from '../records.js';
import type { Upstream } from '../upstream/answer.js';
import type { People } from './accounts.js';
import type { Opening } from './openings.js';

interface LinkParts {
  readonly context: ExtensionContext;
  readonly book: ConnectionBook;
  readonly people: People;
  readonly pages: Pages;
  readonly posted: (take: PostForm<Interaction>['take']) => PostForm<Interaction>;
  readonly signIn: SignInAs;
}

/** Signs in to the account that an identity opens, or shows why not. */
export type SignInAs = (
  ctx: Context,
  interaction: Interaction,
  connection: Connection,
  proven: Pick<Upstream, 'amr' | 'provenAt'>,
  opening: Pick<Opening, 'account' | 'identity' | 'heldTo'>,
) => Promise<void>;

interface ReturnState {
  readonly uid: string;
  readonly stranger: string;
}

const PREFIX = 'connections:';
/** Seconds that a sign-in to the account may be old. */
const FRESH_SECONDS = 900;

/** For the pages, the sign-in is one to the application that the person wanted to get to. */
const applicationOf = (connectionId: string, clientId: string): string => `${PREFIX}${connectionId}/${clientId}`;

export function createApplications(
  { service: { own }, directory, records: { ofInstance } }: ExtensionContext,
  book: ConnectionBook,
): InternalClients {
  return {
    async find(id) {
      const [connectionId = '', ...rest] = id.slice(PREFIX.length).split('/');
      const [connection, client] = await Promise.all([book.recent(connectionId), directory.clients.get(rest.join('/'))]);
      if (!isActive(connection) || client === undefined) return undefined;
      const allowedTenants = connection.tid === ofInstance ? client.allowedTenants : [connection.tid];
      return {
        name: client.name,
        returnTo: `${own}/connections/return`,
        ...(allowedTenants && { allowedTenants }),
        ...(client.styles && { styles: client.styles }),
      };
    },
  };
}

export function linkRoutes(router: ExtensionRouter, { context, book, people, pages, posted, signIn }: LinkParts) {
  const {
    service: { own },
    records: { artifact },
    signIn: { require: requireSignIn, answer: signInAnswer, current: signedIn, mayChange, interactions },
    impersonation: { inPerson },
  } = context;
  const path = `${own}/interaction/:uid/connection/link`;

  async function strangerOf({ uid }: Interaction, name: string) {
    const stranger = name === '' ? undefined : ((await artifact(strangers).read(name)) as Stranger | undefined);
    const connection = stranger?.uid === uid ? await book.get(stranger.connectionId) : undefined;
    return stranger && isActive(connection) ? { stranger, connection } : undefined;
  }

  /** Whether the user signed in to connect their account: a moment ago, and not by this connection. */
  const isForLink = ({ authTime, idp }: BrowserSignIn, { id }: Connection): boolean =>
    authTime >= context.service.now() / 1000 - FRESH_SECONDS && idp !== id;

  const tenantOf = ({ tids }: Interaction): Partial<SignInAsk> => (tids?.length === 1 ? { acrValues: `tenant:${tids[0]}` } : {});

  /** The stranger of a step, and the account to connect. Undefined once the browser was sent on: to the second factor, or to a new sign-in. */
  async function provenHere(ctx: Context, interaction: Interaction, name: string) {
    const found = await strangerOf(interaction, name);
    const here = found && (await signedIn(ctx));
    // An incomplete sign-in goes on where it stopped, for example at the second factor.
    if (found && !here) return void (await toSignIn(ctx, interaction, found.connection, name, tenantOf(interaction)));
    if (!found || !here || !isForLink(here, found.connection)) return void redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
    if (await mayChange(here)) return { ...found, account: here.account, signedInBy: here };
    const { account } = here;
    const loginHint = account.person.user.userName;
    return void (await toSignIn(ctx, interaction, found.connection, name, { loginHint, acrValues: `mfa tenant:${account.tenant.id}` }));
  }

  const toSignIn = (
    ctx: Context,
    { uid, client, parameters }: Interaction,
    { id }: Connection,
    stranger: string,
    ask: Partial<SignInAsk>,
  ) =>
    requireSignIn(ctx, {
      client: applicationOf(id, client.id),
      state: JSON.stringify({ uid, stranger } satisfies ReturnState),
      ...present({ uiLocales: parameters.ui_locales }),
      ...ask,
    });

  router.get(`${own}/connections/return`, async (ctx: Context) => {
    const answer = await signInAnswer(ctx);
    if (!answer) return pages.lost(ctx);
    const { uid, stranger } = JSON.parse(answer.state) as ReturnState;
    const step = 'signedIn' in answer ? `/connection/link?${new URLSearchParams({ stranger })}` : '?restart=yes';
    redirectByGet(ctx, context.service.url(`${own}/interaction/${uid}${step}`));
  });

  router.get(path, inPerson, async (ctx: Context) => {
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    const name = typeof ctx.query.stranger === 'string' ? ctx.query.stranger : '';
    const found = await provenHere(ctx, interaction, name);
    if (!found) return;
    const { connection, stranger, account } = found;
    if (!(await people.mayLink(connection, stranger.subject, account))) return pages.notLinked(ctx, interaction, connection);
    await pages.confirm(ctx, interaction, connection, { account, label: stranger.label, stranger: name });
  });

  router.postForm(path, { ...posted(takeLink), whileImpersonating: false });

  async function takeLink(ctx: Context, interaction: Interaction): Promise<void> {
    const name = formField(ctx, 'stranger');
    const found = await provenHere(ctx, interaction, name);
    if (!found) return;
    const { connection, stranger, account, signedInBy } = found;
    // Another user may have signed in since the page.
    if (account.person.user.id !== formField(ctx, 'oid')) return redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
    if (!(await people.mayLink(connection, stranger.subject, account))) return pages.notLinked(ctx, interaction, connection);
    await people.link(connection, stranger.subject, account, signedInBy);
    await artifact(strangers).remove(name);
    await signIn(ctx, interaction, connection, stranger, { account, identity: { idp: connection.id, subject: stranger.subject } });
  }

  return {
    /** Has the person sign in to their account. */
    async begin(ctx: Context, interaction: Interaction): Promise<void> {
      const name = formField(ctx, 'stranger');
      const found = await strangerOf(interaction, name);
      if (!found) return redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
      await toSignIn(ctx, interaction, found.connection, name, { prompt: 'login', ...tenantOf(interaction) });
    },
  };
}
