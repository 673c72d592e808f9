/** Steps of a request before and after the steps of oidc-provider. */
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { RepeatedForms } from '../http/requests/repeated-forms.js';
import { unreadRequest } from '../http/requests/unread-request.js';
import { foldedPath } from '../paths.js';
import type { PlainAuthorization } from './authorize/plain-door.js';
import { createPostedRequests } from './authorize/posted-requests.js';
import { BACKCHANNEL_PATH, routes } from './configuration.js';
import { parameters } from './hooks.js';
import type { Instances } from './instances.js';
import type { Rooms } from './rooms.js';
import { createPostedSignOuts } from './sessions/posted-sign-outs.js';
import { commitRequest } from './sessions/sessions.js';
import { notCached } from './tokens/doors/plain-answer.js';
import type { PlainDoor } from './tokens/doors/plain-door.js';
import { nameRefreshToken } from './tokens/introspection.js';
import { refuseBrokenForm } from './upstream/request.js';

export interface MiddlewareParts
  extends Pick<Rooms, 'parts' | 'provider' | 'scopes' | 'logout' | 'clientRefusals' | 'requestUris' | 'completed'> {
  readonly instances: Instances;
  /** The door for plain requests to the token endpoints. Undefined if oidc-provider answers by itself. */
  readonly plainDoor: PlainDoor | undefined;
  /** The door for plain authorization requests. Undefined if oidc-provider answers by itself. */
  readonly plainAuthorization: PlainAuthorization | undefined;
  readonly repeatedForms: RepeatedForms;
}

/** {@link MiddlewareParts}, and the steps that are created from them once. */
interface Steps extends MiddlewareParts {
  readonly postedSignOuts: ReturnType<typeof createPostedSignOuts>;
  readonly redirectPosted: ReturnType<typeof createPostedRequests>;
  /** Handlers of the plain door by path. */
  readonly plainAnswers: ReadonlyMap<string, PlainDoor['answers'][keyof PlainDoor['answers']]>;
}

export function createMiddleware(made: MiddlewareParts): Middleware {
  const { parts, instances, provider, scopes, plainDoor, plainAuthorization } = made;
  const steps: Steps = {
    ...made,
    postedSignOuts: createPostedSignOuts(parts),
    redirectPosted: createPostedRequests(parts, provider, parameters),
    plainAnswers: new Map(
      Object.entries(plainDoor?.answers ?? {}).map(([endpoint, answer]) => [endpoints[endpoint as keyof typeof endpoints], answer]),
    ),
  };
  return async (ctx, next) => {
    const { documents, provider: answering } = instances.of(ctx);
    const isDocument = documents.isAt(ctx.path);
    if (isDocument && (await documents.answer(ctx))) return;
    const isCompressed = ctx.req.headers['content-encoding'] !== undefined && Boolean(ctx.is('application/x-www-form-urlencoded'));
    if (isCompressed) await decode(steps, ctx);
    const preparing = scopes.prepare(ctx);
    if (preparing instanceof Promise) await preparing;
    const answer = steps.plainAnswers.get(ctx.path);
    if (answer && (await answer(ctx))) return;
    if (ctx.path === routes.authorization && (await plainAuthorization?.(ctx, answering))) return after(steps, ctx);
    // `readForm` reads compressed forms and the form of a confirmation, and refuses a broken form itself.
    const isConfirmed = ctx.method === 'POST' && foldedPath(ctx.path) === confirmPath;
    if (ctx.method === 'POST' && !isConfirmed && !isCompressed) refuseBrokenForm(ctx.req);
    const changing = before(steps, ctx);
    if (changing !== undefined) {
      await changing;
      if (ctx.method === 'POST') return;
    }
    const evaluate = async (): Promise<void> => {
      await next();
      // Set before the writes, so that the answer to a failed write has them too.
      const { route } = (ctx as unknown as Partial<KoaContextWithOIDC>).oidc ?? {};
      if (route && uncached.has(route)) ctx.set(notCached);
      await after(steps, ctx);
    };
    await (isConfirmed ? once(steps, ctx, evaluate) : evaluate());
    if (!plainDoor && (ctx as unknown as Partial<KoaContextWithOIDC>).oidc?.route) nameRefreshToken(ctx as unknown as KoaContextWithOIDC);
    if (isDocument) await documents.keep(ctx);
  };
}

/**
 * Runs before oidc-provider:
 * - answers a posted form by a redirect to a GET,
 * - replaces a reference or a `request_uri` by its parameters, and
 * - replaces a GET of an authentication request (CIBA) by a POST.
 *
 * Returns undefined if there is nothing to wait for, as for most requests.
 */
function before({ parts, provider, postedSignOuts, redirectPosted, requestUris }: Steps, ctx: Context): Promise<void> | undefined {
  const path = foldedPath(ctx.path);
  const isPost = ctx.method === 'POST';
  if (path === routes.end_session)
    return isPost ? postedSignOuts.redirect(ctx, provider().urlFor('end_session')) : postedSignOuts.resolve(ctx);
  if (path === routes.authorization) {
    if (isPost) return redirectPosted(ctx);
    return ctx.query.request_uri === undefined ? undefined : requestUris.resolve(ctx);
  }
  if (parts.backchannel && path === BACKCHANNEL_PATH && ctx.method === 'GET' && ctx.get('authorization') !== '') asPosted(ctx);
  return undefined;
}

/** Writes the effects of the request after its answer. */
async function after({ parts, logout, completed, clientRefusals }: Steps, ctx: Context): Promise<void> {
  const inner = ctx as unknown as KoaContextWithOIDC;
  logout.skipWithoutSession(inner);
  const ended = logout.isEnding(inner) ? await logout.endSession(inner) : undefined;
  const unit = parts.adapters.unitOf(ctx);
  if (inner.oidc?.route === 'resume') completed.note(inner);
  if (unit.hasWrites) await commitRequest(unit);
  ended?.();
  const settling = clientRefusals.settle(ctx);
  if (settling !== undefined) await settling;
}

/** Reads and decodes a form, and makes it readable again for the parser of oidc-provider, which cannot decompress. */
async function decode({ parts }: Steps, ctx: Context): Promise<void> {
  await parts.readForm(ctx, async () => {});
  ctx.req = unreadRequest(ctx.req, ctx.request as { readonly rawBody?: unknown });
  ctx.request.req = ctx.req;
}

/** Reads a form of oidc-provider's own pages, and evaluates the form once if the browser sends it several times. */
async function once(steps: Steps, ctx: Context, evaluate: () => Promise<void>): Promise<void> {
  await decode(steps, ctx);
  await steps.repeatedForms(ctx, evaluate);
}

/** Path to which the page “Sign out?” posts its form. */
const confirmPath = `${routes.end_session}/confirm`;

const endpoints = { ...routes, backchannel_authentication: BACKCHANNEL_PATH };

/** Turns a GET into a POST whose form is the query. The client authenticates by a header, so no secret is in the URL. @see service specification 4.10 */
function asPosted(ctx: Context): void {
  const body = Buffer.from(ctx.querystring);
  Object.assign(ctx.req.headers, { 'content-type': 'application/x-www-form-urlencoded', 'content-length': `${body.length}` });
  ctx.method = 'POST';
  if (body.length > 0) ctx.req.unshift(body);
}

/** Endpoints whose responses must not be cached. @see RFC 6749 §5.1 */
const uncached = new Set([
  'token',
  'userinfo',
  'introspection',
  'revocation',
  'pushed_authorization_request',
  'backchannel_authentication',
]);
