/**
 * Linking of an identity to an account that the person has. The person proves the identity at the provider, and signs in to the account by the pages and
 * requirements of every sign-in. Then a page asks for confirmation, and the identity is recorded.
 */
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  type ExtensionContext,
  type ExternalIdentity,
  formField,
  type Interaction,
  type InternalClients,
  present,
  RECENT_SIGN_IN_SECONDS,
  redirectByGet,
  type SignInAsk,
} from '../../../lib/extension-door.js';
import type { AccountChoice } from '../account-choice.js';
import { CONNECT, identitiesPath } from '../identities-page.js';
import { type ConnectionLookup, isActive } from '../lookup.js';
import type { Pages } from '../pages.js';
import { type Connection, type ConnectRequest, connectRequests, type Stranger, strangers } from '../records.js';
import type { People } from './accounts.js';

interface LinkParts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly people: People;
  readonly pages: Pages;
  readonly choice: AccountChoice;
}

interface ReturnState {
  readonly uid: string;
  readonly stranger: string;
}

const PREFIX = 'connections:';

/** Returns the id of the internal client for the sign-in to the account. The pages of this client show the application that started the sign-in. */
const applicationOf = (connectionId: string, clientId: string): string => `${PREFIX}${connectionId}/${clientId}`;

export function createApplications(
  { service: { own }, directory, records: { ofInstance } }: ExtensionContext,
  lookup: ConnectionLookup,
): InternalClients {
  return {
    async find(id) {
      const [connectionId = '', ...rest] = id.slice(PREFIX.length).split('/');
      const [connection, client] = await Promise.all([lookup.recent(connectionId), directory.clients.get(rest.join('/'))]);
      if (!isActive(connection) || client === undefined) return undefined;
      const allowedTenants = connection.tid === ofInstance ? client.allowedTenants : [connection.tid];
      return {
        name: client.name,
        returnTo: `${own}/connections/return`,
        isPage: true,
        ...(allowedTenants && { allowedTenants }),
        ...(client.styles && { styles: client.styles }),
      };
    },
  };
}

/** Links an identity to an account, step by step. */
export class AccountLinking {
  readonly #context: ExtensionContext;
  readonly #lookup: ConnectionLookup;
  readonly #people: People;
  readonly #pages: Pages;
  readonly #choice: AccountChoice;

  constructor({ context, lookup, people, pages, choice }: LinkParts) {
    this.#context = context;
    this.#lookup = lookup;
    this.#people = people;
    this.#pages = pages;
    this.#choice = choice;
  }

  /** Sends the person to the sign-in to their account. */
  async begin(ctx: Context, interaction: Interaction): Promise<void> {
    const name = formField(ctx, 'stranger');
    const pending = await this.#pendingLink(interaction, name);
    if (!pending) return redirectByGet(ctx, this.#pages.stepUrl(interaction, '?restart=yes'));
    await this.#toSignIn(ctx, interaction, pending.connection, name, { prompt: 'login', ...tenantOf(interaction) });
  }

  /** Continues after the sign-in to the account. */
  async returned(ctx: Context): Promise<void> {
    const { service, signIn } = this.#context;
    const answer = await signIn.answer(ctx);
    if (!answer) return this.#pages.lost(ctx);
    const { uid, stranger } = JSON.parse(answer.state) as ReturnState;
    const step = 'signedIn' in answer ? `/connection/link?${new URLSearchParams({ stranger })}` : '?restart=yes';
    redirectByGet(ctx, service.url(`${service.own}/interaction/${uid}${step}`));
  }

  /** Asks whether to link the identity to the account. */
  async ask(ctx: Context): Promise<void> {
    const interaction = await this.#context.signIn.interactions.load(ctx);
    if (!interaction) return;
    const name = typeof ctx.query.stranger === 'string' ? ctx.query.stranger : '';
    const proven = await this.#provenFor(ctx, interaction, name);
    if (!proven) return;
    const { connection, stranger, account } = proven;
    // The list of the page has the identity already.
    if (isConnecting(interaction) && account.person.user.externalIdentities.some(isIdentity(connection, stranger)))
      return redirectByGet(ctx, await this.#context.signIn.interactions.abort(ctx, interaction));
    if (!(await this.#people.mayLink(connection, stranger.subject, account))) return this.#pages.notLinked(ctx, interaction, connection);
    await this.#pages.confirm(ctx, interaction, connection, { account, label: stranger.label, stranger: name });
  }

  /** Records the identity for the account, and signs in to the account. */
  async take(ctx: Context, interaction: Interaction): Promise<void> {
    const name = formField(ctx, 'stranger');
    const proven = await this.#provenFor(ctx, interaction, name);
    if (!proven) return;
    const { connection, stranger, account, signedInBy } = proven;
    const { subject } = stranger;
    // Another user may have signed in since the page was shown.
    if (account.person.user.id !== formField(ctx, 'oid')) return redirectByGet(ctx, this.#pages.stepUrl(interaction, '?restart=yes'));
    if (!(await this.#people.mayLink(connection, subject, account))) return this.#pages.notLinked(ctx, interaction, connection);
    await this.#people.link(connection, subject, account, signedInBy);
    await this.#context.records.artifact(strangers).remove(name);
    // The browser keeps the sign-in in which the user connected the identity.
    if (isConnecting(interaction)) return redirectByGet(ctx, await this.#context.signIn.interactions.abort(ctx, interaction));
    await this.#choice.signIn(ctx, interaction, connection, stranger, { account, identity: { idp: connection.id, subject } });
  }

  async #pendingLink({ uid }: Interaction, name: string) {
    const stranger = name === '' ? undefined : ((await this.#context.records.artifact(strangers).read(name)) as Stranger | undefined);
    const connection = stranger?.uid === uid ? await this.#lookup.get(stranger.connectionId) : undefined;
    return stranger && isActive(connection) ? { stranger, connection } : undefined;
  }

  #provenFor(ctx: Context, interaction: Interaction, name: string) {
    return isConnecting(interaction) ? this.#provenToConnect(ctx, interaction, name) : this.#provenHere(ctx, interaction, name);
  }

  /**
   * Returns the result of {@link #provenHere}, for a user who asked for the identity on the page of the ways to sign in. Undefined if the browser was
   * redirected to that page, because the sign-in in which the user asked has ended, or is no longer recent.
   */
  async #provenToConnect(ctx: Context, interaction: Interaction, name: string) {
    const { directory, records, service, signIn } = this.#context;
    const pending = await this.#pendingLink(interaction, name);
    const request = (await records.artifact(connectRequests).read(interaction.parameters.state ?? '-')) as ConnectRequest | undefined;
    const here = pending && request?.connectionId === pending.connection.id ? await signIn.current(ctx) : undefined;
    const isTheirs = here !== undefined && here.oid === request?.oid && !here.act && this.#isRecent(here);
    if (
      pending &&
      request &&
      isTheirs &&
      (await signIn.mayChange(here)) &&
      (await directory.credentials.holds(here.account, request.proof))
    )
      return { ...pending, account: here.account, signedInBy: here };
    return void redirectByGet(ctx, service.url(identitiesPath(service)));
  }

  /** Returns the identity of the step, and the account to link. Undefined if the browser was redirected: to the second factor, or to a new sign-in. */
  async #provenHere(ctx: Context, interaction: Interaction, name: string) {
    const { signIn } = this.#context;
    const pending = await this.#pendingLink(interaction, name);
    const here = pending && (await signIn.current(ctx));
    // An incomplete sign-in continues at its next step, for example at the second factor.
    if (pending && !here) return void (await this.#toSignIn(ctx, interaction, pending.connection, name, tenantOf(interaction)));
    if (!pending || !here || !this.#isForLink(here, pending.connection))
      return void redirectByGet(ctx, this.#pages.stepUrl(interaction, '?restart=yes'));
    if (await signIn.mayChange(here)) return { ...pending, account: here.account, signedInBy: here };
    const { person, tenant } = here.account;
    const ask = { loginHint: person.user.userName, acrValues: `mfa tenant:${tenant.id}` };
    return void (await this.#toSignIn(ctx, interaction, pending.connection, name, ask));
  }

  /** Returns whether the user signed in to link the account: recently, and not by this connection. */
  #isForLink(here: BrowserSignIn, { id }: Connection): boolean {
    return this.#isRecent(here) && here.idp !== id;
  }

  #isRecent({ authTime }: BrowserSignIn): boolean {
    return authTime >= this.#context.service.now() / 1000 - RECENT_SIGN_IN_SECONDS;
  }

  async #toSignIn(
    ctx: Context,
    { uid, client, parameters }: Interaction,
    { id }: Connection,
    stranger: string,
    ask: Partial<SignInAsk>,
  ): Promise<void> {
    await this.#context.signIn.require(ctx, {
      client: applicationOf(id, client.id),
      state: JSON.stringify({ uid, stranger } satisfies ReturnState),
      ...present({ uiLocales: parameters.ui_locales }),
      ...ask,
    });
  }
}

/** Returns whether the user asked for the identity on the page of the ways to sign in. */
const isConnecting = ({ client }: Interaction): boolean => client.id === CONNECT;
const isIdentity =
  ({ id }: Connection, stranger: Stranger) =>
  ({ idp, subject }: ExternalIdentity): boolean =>
    idp === id && subject === stranger.subject;

const tenantOf = ({ tids }: Interaction): Partial<SignInAsk> => (tids?.length === 1 ? { acrValues: `tenant:${tids[0]}` } : {});
