/** The authorization response and its destination. oidc-provider's own renderers would join the values of a repeated parameter to `1,2`. */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { UnavailableError } from '../../errors.js';
import { answerTo } from '../../http/error-answers.js';
import type { OurSession } from '../accounts/login-context.js';
import { LostWrite, lateRefusals } from '../artifacts/lost-writes.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import { registeredClaims } from '../keys/jwt.js';
import type { SignInRecorder } from '../sessions/recorded-sign-ins.js';
import { sessionTtl } from '../sessions/sessions.js';
import { signedResponse } from '../upstream/id-token.js';
import type { ProviderHooks } from '../upstream/provider.js';
import { saveSession } from '../upstream/session.js';
import type { CompletedRequests } from './completed-requests.js';
import { carriedOf, customMembers } from './parameters.js';
import type { SignInRequests } from './sign-in-requests.js';

/** Members of a response. A member with a list is sent once for each value. */
type Members = Readonly<Record<string, unknown>>;

type Place = 'query' | 'fragment' | 'form_post';

const places: ReadonlySet<string> = new Set<Place>(['query', 'fragment', 'form_post']);

/** Returns the place of a response mode; undefined for a mode that the host added. @see JARM §2.3 */
function placeOf(mode: string, responseType: unknown): Place | undefined {
  if (mode === 'jwt') return typeof responseType === 'string' && responseType.includes('token') ? 'fragment' : 'query';
  const place = mode.replace(/\.jwt$/, '');
  return places.has(place) ? (place as Place) : undefined;
}

/** Returns the redirect URI with a response in its query or fragment. @see OAuth 2.0 Multiple Response Type Encoding Practices §2.1 */
function withResponse(url: URL, place: 'query' | 'fragment', members: Members): string {
  const pairs = new URLSearchParams(place === 'query' ? url.search : '');
  for (const name of Object.keys(members)) pairs.delete(name);
  for (const [name, values] of Object.entries(members)) {
    if (Array.isArray(values)) for (const value of values) pairs.append(name, String(value));
    else pairs.append(name, String(values));
  }
  const isBare = !/[?#]/.test(url.href);
  // Most redirect URIs have neither a query nor a fragment, and setting a part of a URL parses the URL again.
  if (isBare) return `${url.href}${place === 'query' ? '?' : '#'}${pairs}`;
  url[place === 'query' ? 'search' : 'hash'] = pairs.toString();
  return url.href;
}

/** Adds the members that every response has. */
export function completeResponse({ oidc }: KoaContextWithOIDC, out: Record<string, unknown>): void {
  out.scope ??= oidc.params?.scope;
  // Adds `iss` also to a response with an ID token. A signed response has `iss` already. @see RFC 9207 §2, JARM §2.1
  if (!oidc.responseMode?.includes('jwt')) out.iss = oidc.issuer;
}

const withoutScope = ({ scope: _scope, ...others }: Members): Members => others;

/** Returns a response as fields of a form. @see OAuth 2.0 Form Post Response Mode §2 */
const formFields = (members: Members): Record<string, string | readonly string[]> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]));

/**
 * Creates the function that sends an authorization response. The function commits first, so that a lost race becomes an error response and not a code that
 * does not work. Then the function adds custom parameters, which never replace the parameters of the protocol.
 */
export const createResponder =
  (
    { adapters, options, now, showPage, browserState }: OidcParts,
    answerInternal: SignInRequests['answer'],
    completed: Pick<CompletedRequests, 'note' | 'noteForm'>,
    recorder: SignInRecorder,
  ): ProviderHooks['respond'] =>
  async (mode, ctx, redirectUri, payload, send) => {
    const isError = 'error' in payload;
    const { oidc } = ctx;
    const { client, params, session } = oidc;
    // oidc-provider does not repeat the checks that it made when the sign-in began.
    if (isError && oidc.route === 'resume' && !client?.redirectUriAllowed(redirectUri)) throw new errors.InvalidRedirectUri();
    const unit = adapters.unitOf(ctx);
    try {
      if (!isError) {
        const recording = recorder.ofResponse(ctx, session as OurSession | undefined, client?.clientId ?? '');
        if (recording !== undefined) await recording;
        await saveSession(session, sessionTtl({ options, now }, session));
        completed.note(ctx);
      }
      await unit.commit();
    } catch (error) {
      if (isError && error instanceof UnavailableError) {
        oidc.provider.emit('authorization.error', ctx, error as never);
        Object.assign(payload, { error: answerTo(error).code, error_description: error.error_description });
      } else if (!(error instanceof LostWrite)) throw error;
      else if (!isError) throw lateRefusals.respond(error);
    }
    const record = clientOf(client);
    const answering = record && answerInternal(ctx, record, redirectUri, payload);
    if (answering) return answering;
    const isJwt = mode.endsWith('jwt');
    const target = new URL(redirectUri);
    const custom = carriedOf(ctx, oidc)?.custom ?? [];
    const response = {
      // The scope is the granted scope. An error response has no scope (RFC 6749 §4.1.2.1).
      ...(isError || payload.scope === undefined ? withoutScope(payload) : payload),
      session_state: browserState.respond(ctx, target.origin, payload.error),
      // Leaves out names with a meaning at the destination: in a JWT, or in the redirect URI's own query.
      ...(custom.length > 0 ? customMembers(custom, isJwt ? registeredClaims : target.searchParams.keys()) : {}),
    };
    const place = placeOf(mode, params?.response_type);
    if (place === undefined) return send(response);
    const members = isJwt ? { response: await signedResponse(ctx, response) } : response;
    if (place !== 'form_post') {
      ctx.status = 303;
      ctx.set('Location', withResponse(target, place, members));
      // Koa's own redirect parses the URL again, and repeats the code in the body, where a log may find it.
      ctx.body = '';
      return;
    }
    ctx.status = 200;
    const fields = formFields(members);
    if (isError && record) completed.noteForm(ctx, { action: redirectUri, fields, clientId: record.id });
    await showPage(ctx, { page: 'continue', action: redirectUri, fields, ...(record ? { client: record } : {}) });
  };
