/** The interaction of the request's browser, for its pages. Other sites can set the path and the cookie of an interaction, but not its secret. */

import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors, type Interaction as ProviderInteraction } from 'oidc-provider';
import { parseAcrValues } from '../../acr-values.js';
import type { Interaction } from '../../contract/sign-in/interaction.js';
import { redirectByGet } from '../../http/requests/posted-form.js';
import type { FormState } from '../../http/requests/repeated-forms.js';
import { isInteractionUid } from '../../paths.js';
import { present } from '../../present.js';
import { scopesOfClaims } from '../accounts/claims-parameter.js';
import { type OurSession, sessionNameOf } from '../accounts/login-context.js';
import { tenantsAllowed } from '../accounts/requirements.js';
import { type PostedAnswer, parametersOf } from '../authorize/completed-requests.js';
import { requirementOf } from '../authorize/requirement-prompts.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import type { BoundInteraction } from '../upstream/interaction.js';
import type { Restart } from './restart.js';

/** Query parameter of a page to which the service redirected the browser to test a cookie. */
const askedParameter = 'cookies';

type FoundInteraction = ProviderInteraction & Required<BoundInteraction>;

/** Parts that look interactions up. */
interface Current {
  readonly parts: OidcParts;
  readonly provider: () => Provider;
  readonly restart: Restart;
}

export function createCurrentInteraction(parts: OidcParts, provider: () => Provider, restart: Restart) {
  const current: Current = { parts, provider, restart };
  return { find: (ctx: Context) => find(current, ctx), load: (ctx: Context) => load(current, ctx) };
}

/** Loads the interaction. Answers the request itself if the interaction has ended or belongs to another browser. */
async function load(current: Current, ctx: Context): Promise<Interaction | undefined> {
  const { parts, provider, restart } = current;
  const { claims, internalClients } = parts;
  const details = await find(current, ctx);
  if (!details) return answerInstead(current, ctx);
  const { uid, browser } = details;
  const client = await provider().Client.find(String(details.params.client_id));
  const record = clientOf(client);
  if (!client || !record) return showExpired(current, ctx);
  const parameters = parametersOf(details);
  const signedIn = details.session?.accountId ? ((await provider().Session.get(ctx)) as OurSession) : undefined;
  restart.remember(ctx, uid, { parameters, browser });
  const tids = tenantsAllowed(record.allowedTenants, parseAcrValues(parameters.acr_values));
  const { registration, eventMetadata } = internalClients.applicationOf(record) ?? {};
  return {
    uid,
    browser,
    ...promptOf(details.prompt.name),
    client: record,
    ...(internalClients.isInternal(record) ? { isInternal: true } : {}),
    ...present({ registration }),
    ...(eventMetadata && { eventMetadata }),
    parameters,
    isAnswerable: client.redirectUriAllowed(String(details.params.redirect_uri)),
    ...(tids ? { tids } : {}),
    ...askedIdp(parameters),
    ...(details.session?.accountId ? { oid: details.session.accountId } : {}),
    ...(signedIn?.loginTs === undefined ? {} : { authTime: signedIn.loginTs, ...named(sessionNameOf(signedIn)) }),
    ...(signedIn?.accountId
      ? {
          owner: signedIn.owner ?? signedIn.accountId,
          signedInBy: { idp: signedIn.idp ?? 'local', method: signedIn.method, used: signedIn.used },
        }
      : {}),
    ...(signedIn?.act ? { act: signedIn.act } : {}),
    missingScopes: missingScopes(details.prompt.details, claims),
  };
}

/** Returns the interaction, if it belongs to the browser of the request. */
async function find({ parts, provider }: Current, ctx: Context): Promise<FoundInteraction | undefined> {
  if (!isInteractionUid(ctx.params?.uid)) return undefined;
  try {
    const details = (await provider().interactionDetails(ctx.req, ctx.res)) as FoundInteraction;
    return details.uid === ctx.params.uid && parts.browsers.isBoundHere(ctx, details) ? details : undefined;
  } catch (error) {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

/**
 * Answers for a sign-in that has ended, or that belongs to another browser. A form that was posted to that sign-in is not continued.
 *
 * If the browser completed the sign-in, the page and the same form continue it. A form with other content, or without the form's token, proves nothing.
 */
async function answerInstead(current: Current, ctx: Context): Promise<undefined> {
  const { parts, restart } = current;
  const uid = String(ctx.params?.uid);
  const isPost = ctx.method === 'POST';
  const mayLeadOn = !isPost || (ctx.state as FormState).isSentAgain === true;
  const onward =
    (mayLeadOn ? await restart.afterSignIn(ctx, uid) : undefined) ??
    (await restart.withoutSession(ctx, uid)) ??
    (isPost ? undefined : await restart.moveHere(ctx, uid));
  if (typeof onward === 'object') await post(parts, ctx, onward);
  else if (onward !== undefined) redirectByGet(ctx, onward);
  else if (ctx.method !== 'GET' || !(await answerWithoutCookies(current, ctx, uid))) await showExpired(current, ctx);
  return undefined;
}

/**
 * Answers a browser without cookies at the page of a pending sign-in. A browser that opens the URL of the page for the first time has no cookies either. So
 * the service sets a cookie and redirects the browser to the same page once more. Returns false if missing cookies are not the problem.
 */
async function answerWithoutCookies({ parts, restart }: Current, ctx: Context, uid: string): Promise<boolean> {
  const { browsers, cookieCheck, directory, options } = parts;
  if (!cookieCheck.isWithout(ctx)) return false;
  const waits = await restart.waits(uid);
  if (!waits) return false;
  if (!waits.isRestarted && ctx.query[askedParameter] === undefined) {
    browsers.begin(ctx);
    redirectByGet(ctx, `${options.issuer}${ctx.path}?${askedParameter}=asked`);
    return true;
  }
  const { url, clientId } = (await restart.offer(ctx, uid)) ?? {};
  const client = clientId === undefined ? undefined : await directory.clients.get(clientId);
  await cookieCheck.show(ctx, { ...present({ restart: url }), ...(client ? { client } : {}) });
  return true;
}

async function post({ directory, showPage }: OidcParts, ctx: Context, { action, fields, clientId }: PostedAnswer): Promise<void> {
  const client = await directory.clients.get(clientId);
  ctx.status = 200;
  await showPage(ctx, { page: 'continue', action, fields, ...(client ? { client } : {}) });
}

/** Shows that a sign-in has expired, with the URL that restarts the sign-in. */
async function showExpired({ parts: { directory, showPage }, restart }: Current, ctx: Context): Promise<undefined> {
  const offer = await restart.offer(ctx, String(ctx.params?.uid));
  const client = offer && (await directory.clients.get(offer.clientId));
  ctx.status = 400;
  if (!offer && !restart.wasHere(ctx, String(ctx.params?.uid))) return void (await showPage(ctx, { page: 'wrong-link' }));
  await showPage(ctx, { page: 'expired', ...(offer ? { restart: offer.url } : {}), ...(client ? { client } : {}) });
}

const named = (session: string | undefined): Pick<Interaction, 'session'> => (session === undefined ? {} : { session });

function askedIdp({ acr_values: acrValues }: Interaction['parameters']): Pick<Interaction, 'idp'> {
  const { idp } = parseAcrValues(acrValues);
  return idp === undefined ? {} : { idp };
}

/** Returns the page for a prompt of oidc-provider. */
function promptOf(name: string): Pick<Interaction, 'prompt' | 'requirement'> {
  const requirement = requirementOf(name);
  return requirement === undefined ? { prompt: name as Interaction['prompt'] } : { prompt: 'requirement', requirement };
}

/**
 * Returns the scopes on the page. A claim that is requested by name is shown as the scope that would grant the claim, because the scope has a description.
 */
function missingScopes({ missingOIDCScope = [], missingOIDCClaims = [] }: Consenting, claims: OidcParts['claims']): readonly string[] {
  return [...new Set([...missingOIDCScope, ...scopesOfClaims(claims, missingOIDCClaims)])];
}

interface Consenting {
  readonly missingOIDCScope?: readonly string[];
  readonly missingOIDCClaims?: readonly string[];
}
