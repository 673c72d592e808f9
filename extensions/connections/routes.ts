/** What comes back from providers, and the steps of a sign-in that follow. */
import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  type Interaction,
  type PostForm,
  present,
  redirectByGet,
} from '../../lib/extension-door.js';
import { type ConnectionBook, isActive } from './book.js';
import type { ConnectionMethod } from './method.js';
import { NONE, type Pages } from './pages.js';
import type { People } from './people/accounts.js';
import { linkRoutes, type SignInAs } from './people/linking.js';
import { labelOf } from './people/mapping.js';
import type { Opening } from './people/openings.js';
import { type Begun, begun, type Connection, type Stranger, spent, strangers } from './records.js';
import { RefusedAnswer, readAnswer, type Upstream } from './upstream/answer.js';
import { nextAfter } from './upstream/logout.js';
import type { Providers } from './upstream/provider.js';
import { callbackPath } from './upstream/request.js';
import { publicKeys } from './upstream/secrets.js';

export interface RouteParts {
  readonly context: ExtensionContext;
  readonly book: ConnectionBook;
  readonly providers: Providers;
  readonly people: People;
  readonly pages: Pages;
  readonly method: ConnectionMethod;
}

/** What of an answer goes on to the sign-in. */
const answered = ['code', 'state', 'iss', 'error'] as const;
/** Bytes of an answer. */
const MAX_BYTES = 16 * 1024;
const REFUSED = 'sign-in by a connection refused';

export function connectionRoutes(router: ExtensionRouter, parts: RouteParts): void {
  const { context, book, providers, people, pages, method } = parts;
  const {
    service: { own, url, logger },
    signIn: { interactions },
    directory,
    http: { csrf, postedForms, requestId },
    records: { artifact },
  } = context;
  const base = `${own}/interaction/:uid`;
  const idOf = (ctx: Context): string => String(ctx.params.id);
  const begunBy = async (parameters: URLSearchParams): Promise<Begun | undefined> => {
    const state = parameters.get('state');
    return state ? ((await artifact(begun).read(state)) as Begun | undefined) : undefined;
  };

  // Cookies of a sign-in are for its own path: on to there, with what came.
  router.get(callbackPath(own, ':id'), async (ctx: Context) => {
    const given = ctx.query.reference === undefined ? ctx.query : ((await postedForms.take(ctx)) ?? {});
    const all = answered.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]] as const]));
    const texts = all.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as [string, string]] : []));
    const parameters = new URLSearchParams(texts);
    const kept = texts.length === all.length ? await begunBy(parameters) : undefined;
    if (!kept || String(parameters).length > MAX_BYTES) return pages.lost(ctx);
    redirectByGet(ctx, url(`${own}/interaction/${kept.uid}/connections/${encodeURIComponent(idOf(ctx))}?${parameters}`));
  });
  router.postWithoutCsrf(callbackPath(own, ':id'), async (ctx: Context) => {
    // A form for no connection is not kept, because anybody can post it.
    if (!(await book.get(idOf(ctx)))) return pages.lost(ctx);
    await postedForms.sendOn(ctx, callbackPath(own, encodeURIComponent(idOf(ctx))), answered);
  });

  router.get(`${base}/connections/:id`, async (ctx: Context) => {
    // Another browser's sign-in is not loaded, so that nobody spends its answer.
    const interaction = await interactions.load(ctx);
    if (!interaction) return;
    const parameters = new URLSearchParams(ctx.querystring);
    const state = parameters.get('state') ?? '';
    const asked = await begunBy(parameters);
    const connection = await book.get(asked?.connectionId ?? idOf(ctx));
    const shown = connection ?? { id: idOf(ctx), name: idOf(ctx) };
    const refused = async ({ refusal, reason, cause }: RefusedAnswer, stranger?: string) => {
      const client = interaction.client.id;
      logger.info({ requestId: requestId(ctx), connection: shown.id, client, refusal, reason, err: cause }, REFUSED);
      await pages.refused(ctx, interaction, shown, refusal, stranger);
    };
    let upstream: Upstream | undefined;
    try {
      if (asked?.uid !== interaction.uid) throw new RefusedAnswer('over', 'the answer is none of this sign-in');
      if (asked.connectionId !== idOf(ctx)) throw new RefusedAnswer('mixUp', 'the answer came to the address of another connection');
      if (!(await artifact(spent).put(state, true))) throw new RefusedAnswer('over', 'the answer was used');
      if (!isActive(connection)) throw new RefusedAnswer('failed', 'the connection is gone, or disabled');
      upstream = await readAnswer(context, providers, connection, asked, parameters);
      const withoutClaims = asked.withoutClaims === digestOf(upstream.subject);
      const openings = await people.accountsOf(connection, upstream, interaction, withoutClaims);
      await choose(ctx, interaction, connection, upstream, openings);
    } catch (error) {
      if (!(error instanceof RefusedAnswer)) throw error;
      const isStranger = upstream && connection?.linkBySignIn && (error.refusal === 'unknown' || error.refusal === 'taken');
      await refused(error, isStranger && upstream && connection ? await keepStranger(interaction, connection, upstream) : undefined);
    }
  });

  async function keepStranger({ uid }: Interaction, { id, mapping }: Connection, upstream: Upstream): Promise<string> {
    const { subject, amr, provenAt, claims } = upstream;
    const name = randomBytes(24).toString('base64url');
    const kept: Stranger = { uid, connectionId: id, subject, amr, provenAt, label: labelOf(mapping, claims, subject) };
    await artifact(strangers).put(name, kept);
    return name;
  }

  /** An account may be chosen as long as its proof still holds. “Sign out everywhere” ends the proof. */
  async function choiceOf(
    { uid }: Interaction,
    { idp, subject }: Opening['identity'],
    { amr, provenAt }: Proven,
    { account, isClaim }: Opening,
  ): Promise<string> {
    const { at, credentials } = await directory.credentials.proofOf(account, new Date(provenAt));
    const kind = isClaim ? 'claim' : 'known';
    return `connection ${uid} ${idp} ${digestOf(subject)} ${kind} ${amr.join('+')} ${provenAt} ${account.person.user.id} ${at} ${credentials}`;
  }

  async function choose(ctx: Context, interaction: Interaction, connection: Connection, proven: Upstream, openings: readonly Opening[]) {
    const { id, name } = connection;
    const [only, ...others] = openings;
    if (only && others.length === 0 && !only.isClaim) return signIn(ctx, interaction, connection, proven, only);
    const choices = await Promise.all(
      openings.map(async (opening) => {
        const { account, identity, isClaim } = opening;
        const token = csrf.token(ctx, await choiceOf(interaction, identity, proven, opening));
        const value = [account.person.user.id, id, digestOf(identity.subject), proven.amr.join('+'), proven.provenAt, token].join(' ');
        return { account, isClaim, value };
      }),
    );
    await pages.accounts(ctx, interaction, { id, name, subject: digestOf(proven.subject) }, choices);
  }

  const signIn: SignInAs = async (ctx, interaction, connection, { amr, provenAt }, { account, identity, heldTo }) => {
    // A permission may have been granted since the answer.
    if (!(await people.opens({ account, identity }))) return pages.refused(ctx, interaction, connection, 'unconfirmed');
    const proof = await directory.credentials.proofOf(account, new Date(provenAt));
    const target = await interactions.signIn(ctx, interaction, {
      oid: account.person.user.id,
      amr,
      idp: connection.id,
      used: identity.subject,
      // No other tenant has to trust a second factor of this tenant's provider.
      ...(connection.tid === context.records.ofInstance ? {} : { mfaIn: connection.tid }),
      ...present({ heldTo }),
      proof,
    });
    if (target !== undefined) return redirectByGet(ctx, target);
    const client = interaction.client.id;
    logger.info({ requestId: requestId(ctx), connection: connection.id, client, reason: 'the account takes no such sign-in' }, REFUSED);
    await pages.refused(ctx, interaction, connection, 'wrongTenant');
  };

  /** Returns the route of a form of these pages, which are steps of a sign-in. */
  const posted = (take: PostForm<Interaction>['take']): PostForm<Interaction> => ({
    whileImpersonating: true,
    open: (ctx) => interactions.load(ctx),
    subject: ({ uid }) => uid,
    again() {
      throw new IdpError('invalid_request');
    },
    take,
  });

  async function takeAccount(ctx: Context, interaction: Interaction): Promise<void> {
    const [oid = '', idp = '', digest = '', amr = '', at = '', token] = formField(ctx, 'choice').split(' ');
    const connection = await book.get(oid === NONE ? formField(ctx, 'idp') : idp);
    if (oid === NONE && isActive(connection)) {
      const subject = formField(ctx, 'subject');
      return method.send(ctx, interaction, connection, isDigest(subject) ? { withoutClaims: subject } : {});
    }
    const account = /^\d{1,15}$/.test(at) ? await directory.accounts.findByOid(oid) : undefined;
    const proven: Proven = { amr: amr.split('+'), provenAt: Number(at) };
    // The identity may have been removed since the page.
    const openings = account && isActive(connection) ? people.openingsOf(connection, account, interaction) : [];
    const opening = openings.find(({ identity }) => digestOf(identity.subject) === digest);
    // The person may have said since, in another tab, that the account is theirs.
    const asShown = opening ? [opening, { ...opening, isClaim: true }] : [];
    const texts = await Promise.all(asShown.map((one) => choiceOf(interaction, one.identity, proven, one)));
    const isOurs = texts.some((text) => csrf.check(ctx, text, token));
    if (!isActive(connection) || !opening || !isOurs) return redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
    if (!(await people.opens(opening))) return pages.refused(ctx, interaction, connection, 'unconfirmed');
    const chosen = opening.isClaim ? await people.acknowledge(connection, opening) : opening.account;
    if (!chosen) return redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
    await signIn(ctx, interaction, connection, proven, { ...opening, account: chosen });
  }

  const link = linkRoutes(router, { ...parts, posted, signIn });

  async function takeAgain(ctx: Context, interaction: Interaction): Promise<void> {
    if (formField(ctx, 'step') === 'link') return link.begin(ctx, interaction);
    const idp = formField(ctx, 'idp');
    const connection = await book.get(idp);
    if (formField(ctx, 'another') === 'yes' && isActive(connection)) return method.send(ctx, interaction, connection, { another: true });
    if (!(await interactions.begin(ctx, interaction, idp))) redirectByGet(ctx, pages.at(interaction, '?restart=yes'));
  }

  router.postForm(`${base}/connection/account`, posted(takeAccount));
  router.postForm(`${base}/connection/again`, posted(takeAgain));

  router.get(`${own}/connections/:id/jwks`, async (ctx: Context) => {
    const connection = await book.get(idOf(ctx));
    if (!connection || connection.keys.length === 0) throw new IdpError('not_found');
    ctx.set('Cache-Control', 'public, max-age=60');
    ctx.type = 'application/jwk-set+json';
    ctx.body = JSON.stringify({ keys: publicKeys(connection) });
  });

  router.get(`${own}/connections/:id/signed-out`, async (ctx: Context) => {
    const next = await nextAfter(context, ctx);
    return next === undefined ? pages.signedOut(ctx) : redirectByGet(ctx, next);
  });
}

type Proven = Pick<Upstream, 'amr' | 'provenAt'>;

/** Names a subject in a form, because a subject may be long. */
const digestOf = (subject: string): string => createHash('sha256').update(subject).digest('base64url');
const isDigest = (text: string): boolean => /^[\w-]{43}$/.test(text);
