/**
 * Page of the user's ways to sign in: the list, the removal of an identity, and the start of a sign-in at a provider that connects another identity. Each change
 * requires a sign-in of the last ten minutes, with the second factor if the user has one.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  type CredentialRef,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  type ExternalIdentity,
  formField,
  type InternalClients,
  identityWay,
  type OwnPage,
  RECENT_SIGN_IN_SECONDS,
  redirectByGet,
  type Text,
  type View,
  type ViewPart,
} from '../../lib/extension-door.js';
import type { ConnectionLookup } from './lookup.js';
import { type ConnectRequest, connectRequests } from './records.js';
import { connectable } from './ways.js';

export const identitiesPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/identities`;
const pageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'connections:identities', identitiesPath(context.service), 'credentialChange');

/** Internal client of the sign-in at a provider that connects an identity. The sign-in changes no sign-in of the browser. */
export const CONNECT = 'connections:connect';

/** Creates the internal clients of the page: the client that the user signs in to, and {@link CONNECT}. */
export function createIdentityClients(context: ExtensionContext): InternalClients {
  const { clients } = pageOf(context);
  const connect = { returnTo: `${identitiesPath(context.service)}/return`, isPage: true };
  return { find: (id) => (id === CONNECT ? connect : clients.find(id)) };
}

/** Returns a digest that names an identity in a form, because a subject may have 1000 characters. */
const nameOf = ({ idp, subject }: ExternalIdentity): string =>
  createHash('sha256')
    .update(JSON.stringify([idp, subject]))
    .digest('base64url');

const subjectOf = ({ session }: BrowserSignIn): string => `identities ${session}`;

/** Texts of ways that are no identities. */
const titles: Readonly<Record<string, Text>> = { password: 'connections.own.password', factor: 'connections.own.passkey' };

type Problem = { readonly text: Text; readonly status: number };

interface Parts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly ownPage: OwnPage;
  /** URL of the page. */
  readonly action: string;
}

export function identityRoutes(router: ExtensionRouter, context: ExtensionContext, lookup: ConnectionLookup): void {
  const { url } = context.service;
  const path = identitiesPath(context.service);
  const ownPage = pageOf(context);
  const parts: Parts = { context, lookup, ownPage, action: url(path) };

  router.get(`${path}/return`, async (ctx: Context) => {
    const answer = await context.signIn.answer(ctx);
    // The identity was connected, or the user cancelled. The list shows which.
    const isOver = answer !== undefined && (answer.client === CONNECT || 'signedIn' in answer);
    return isOver ? redirectByGet(ctx, parts.action) : showSignedOut(parts, ctx);
  });

  router.get(path, async (ctx: Context) => {
    const here = await ownPage.present(ctx, path);
    if (here) await showList(parts, ctx, here);
  });

  router.postForm(path, {
    open: (ctx) => ownPage.present(ctx, path),
    subject: subjectOf,
    // The identity may have been connected again since the same form was sent.
    isEvaluatedAgain: (ctx) => formField(ctx, 'removed') !== '',
    again: (ctx, here) => showList(parts, ctx, here, { text: 'connections.own.foreign', status: 403 }),
    async take(ctx, here) {
      if (formField(ctx, 'connect') !== '') return connect(parts, ctx, here, formField(ctx, 'connect'));
      const wanted = formField(ctx, 'remove') || formField(ctx, 'removed');
      const identity = here.account.person.user.externalIdentities.find((one) => nameOf(one) === wanted);
      if (!identity || !(await isRemovable(parts, here, identity))) return redirectByGet(ctx, parts.action);
      if (formField(ctx, 'removed') === '') return askForRemoval(parts, ctx, here, identity);
      await remove(parts, ctx, here, identity);
    },
  });
}

const showPage = async (
  { context, action }: Parts,
  ctx: Context,
  here: BrowserSignIn,
  model: Omit<View, 'form' | 'title'>,
): Promise<void> =>
  context.pages.view(ctx, {
    ...(await context.pages.brandingOf(here.account.tenant.id)),
    title: 'connections.own.title',
    form: { action, subject: subjectOf(here) },
    ...model,
  });

const titleOf = async ({ lookup }: Parts, { idp }: ExternalIdentity): Promise<Text> => ({ plain: (await lookup.get(idp))?.name ?? idp });

/**
 * Returns whether the user may remove the identity if it is not the last way. The service does not know whether an identity of neither a connection nor an
 * active sign-in method signs the user in. To remove such an identity, the user needs a way that the service knows.
 */
async function isRemovable(
  { context: { directory }, lookup }: Parts,
  { account }: BrowserSignIn,
  identity: ExternalIdentity,
): Promise<boolean> {
  if ((await lookup.get(identity.idp)) !== undefined) return true;
  return (await directory.waysIn.of(account)).length > 0;
}

async function showList(parts: Parts, ctx: Context, here: BrowserSignIn, problem?: Problem): Promise<void> {
  const { context, lookup } = parts;
  const { account } = here;
  const { parentUserId, externalIdentities } = account.person.user;
  const [ways, toConnect] = await Promise.all([context.directory.waysIn.of(account), connectable(lookup, account)]);
  const isOnly = (way: CredentialRef): boolean => parentUserId === undefined && ways.length === 1 && ways[0]?.id === way.id;
  const others = ways.flatMap(({ kind }) => (parentUserId === undefined && titles[kind] ? [{ title: titles[kind] }] : []));
  const identities = await Promise.all(
    externalIdentities.map(async (identity) => {
      const title = await titleOf(parts, identity);
      const line: Text = { plain: identity.subject };
      if (isOnly(identityWay(identity))) return { title, lines: [line, 'connections.own.only'] };
      if (!(await isRemovable(parts, here, identity)))
        return { title, lines: [line, { key: 'connections.own.byTenant', values: { tenant: account.tenant.name } }] };
      return { title, lines: [line], action: { text: 'connections.own.remove', about: title, name: 'remove', value: nameOf(identity) } };
    }),
  );
  const entries = [...others, ...identities];
  const connects = toConnect.map(
    ({ id, name }): ViewPart => ({
      part: 'button',
      text: { key: 'connections.own.connect', values: { method: name } },
      name: 'connect',
      value: id,
      look: 'quiet',
    }),
  );
  await showPage(parts, ctx, here, {
    lead: entries.length > 0 ? 'connections.own.lead' : 'connections.own.none',
    ...(problem ? { problem: problem.text, status: problem.status } : {}),
    parts: [
      ...(entries.length > 0 ? [{ part: 'entries', entries } as const] : []),
      ...(parentUserId === undefined ? [] : [{ part: 'text', text: 'connections.own.ofParent' } as const]),
      ...connects,
    ],
  });
}

const askForRemoval = async (parts: Parts, ctx: Context, here: BrowserSignIn, identity: ExternalIdentity): Promise<void> =>
  showPage(parts, ctx, here, {
    lead: await titleOf(parts, identity),
    parts: [
      { part: 'text', text: 'connections.own.ends' },
      { part: 'button', text: 'connections.own.remove', name: 'removed', value: nameOf(identity), look: 'warning' },
      { part: 'link', text: 'connections.own.back', href: parts.action },
    ],
  });

const showSignedOut = ({ context, action }: Parts, ctx: Context): Promise<void> =>
  context.pages.view(ctx, {
    title: 'connections.own.title',
    problem: 'connections.own.signedOut',
    status: 403,
    parts: [{ part: 'link', text: 'connections.again', href: action }],
  });

/** Sends the browser to the provider. The answer asks whether to connect the identity, in the sign-in of this page. */
async function connect({ context, lookup, action }: Parts, ctx: Context, here: BrowserSignIn, connectionId: string): Promise<void> {
  const connection = (await connectable(lookup, here.account)).find(({ id }) => id === connectionId);
  if (!connection) return redirectByGet(ctx, action);
  const { records, signIn } = context;
  const state = randomUUID();
  const request: ConnectRequest = {
    oid: here.oid,
    connectionId,
    proof: await signIn.proofOf(ctx, here, { lifetimeSeconds: RECENT_SIGN_IN_SECONDS }),
  };
  await records.artifact(connectRequests).put(state, request);
  await signIn.require(ctx, {
    client: CONNECT,
    state,
    prompt: 'login',
    acrValues: `idp:${connectionId} tenant:${here.account.tenant.id}`,
  });
}

/**
 * Removes the identity, unless it is the last way to sign in, and ends the other sign-ins of the user in the same write. A sign-in by the provider of the
 * identity ends too, unless the user has another identity there.
 */
async function remove(parts: Parts, ctx: Context, here: BrowserSignIn, identity: ExternalIdentity): Promise<void> {
  const { directory } = parts.context;
  const { oid, session, authTime, idp, account } = here;
  const { users } = directory.as(attributionOf(here)).forTenant(account.tenant.id);
  const spared = { session, cause: `identity ${randomUUID()}`, signedInAt: new Date(authTime * 1000) };
  const spares = (left: readonly ExternalIdentity[]) => (identity.idp !== idp || left.some((one) => one.idp === idp) ? spared : undefined);
  const isRemoved = await directory.waysIn.remove(account, identityWay(identity), (check) =>
    users.removeIdentity(oid, identity, { check, spares }),
  );
  if (!isRemoved) return showList(parts, ctx, here, { text: 'connections.own.last', status: 409 });
  redirectByGet(ctx, parts.action);
}
