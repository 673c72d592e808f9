/** Authorization requests that the service makes for internal clients, and their answers. */

import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { ExtensionSignIn } from '../../contract/context/sign-in.js';
import { redirectByGet } from '../../http/requests/posted-form.js';
import { present } from '../../present.js';
import type { Client } from '../../store/records/records.js';
import type { OidcParts } from '../context.js';
import { createOneTimeRecords } from '../sessions/one-time-records.js';
import type { createSignedIn } from '../sessions/signed-in.js';
import { checkLengths } from './checks.js';
import { carryParameters } from './parameters.js';
import { createProvenSignIns, provenParameter } from './proven-sign-ins.js';
import { urlByReference } from './pushed-requests.js';

/** An answer that waits for the browser. The sign-in is the sign-in of the browser's session when the browser arrives. */
interface Answer {
  readonly client: string;
  readonly state: string;
  /** URL to which the browser is redirected. */
  readonly at: string;
  /** Members of a sign-in. */
  readonly oid?: string;
  readonly error?: string;
  readonly description?: string;
}

export interface SignInRequests {
  /** Answers a request of an internal client. Returns undefined for other clients. */
  answer(
    ctx: KoaContextWithOIDC,
    client: Client,
    redirectUri: string,
    payload: Readonly<Record<string, unknown>>,
  ): Promise<void> | undefined;
  readonly require: ExtensionSignIn['require'];
  readonly take: ExtensionSignIn['answer'];
}

export function createSignInRequests(
  parts: OidcParts,
  provider: () => Provider,
  signedIn: ReturnType<typeof createSignedIn>,
): SignInRequests {
  const { options, internalClients } = parts;
  const proven = createProvenSignIns(parts);
  const answers = createOneTimeRecords<Answer>(parts, { kind: 'SignInAnswer', purpose: 'sign-in answer' });

  /** @param client id of the client. */
  async function answerByReference(
    ctx: KoaContextWithOIDC,
    client: string,
    redirectUri: string,
    { state = '', error, error_description: description }: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const oid = ctx.oidc.session?.accountId;
    const about = { client, state: String(state), at: redirectUri };
    const failed = { error: String(error), ...(typeof description === 'string' ? { description } : {}) };
    const reference = await answers.keep({ ...about, ...(error === undefined && oid ? { oid } : failed) });
    redirectByGet(ctx as unknown as Context, `${redirectUri}?${new URLSearchParams({ reference })}`);
  }

  return {
    answer(ctx, client, redirectUri, payload) {
      return internalClients.isInternal(client) ? answerByReference(ctx, client.id, redirectUri, payload) : undefined;
    },

    async require(ctx, { client, state, prompt, acrValues, loginHint, maxAge, uiLocales, eid, signIn }) {
      const found = (await provider().Client.find(client)) as { redirectUris?: readonly string[] } | undefined;
      const [redirectUri] = found?.redirectUris ?? [];
      if (!redirectUri || !internalClients.owns(client))
        throw new TypeError(`There is no internal client ${client}. Return it in clients of the extension.`);
      const asked = {
        prompt,
        state,
        acr_values: acrValues,
        login_hint: loginHint,
        max_age: maxAge === undefined ? undefined : String(maxAge),
        ui_locales: uiLocales,
        ...eid,
      };
      const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined && value !== ''));
      checkLengths(given);
      const request = { client_id: client, response_type: 'none', redirect_uri: redirectUri, scope: 'openid', ...given };
      const parameters = carryParameters('authorization', request, provider());
      if (signIn) parameters[provenParameter] = await proven.keep(ctx, signIn);
      redirectByGet(ctx, await urlByReference(provider(), options, client, parameters));
    },

    async take(ctx) {
      const answer = await answers.take(ctx.query.reference);
      if (!answer || answer.at !== options.issuer + ctx.path) return undefined;
      const { client, state, oid, error = 'access_denied', description } = answer;
      if (oid === undefined) return { client, state, error, ...present({ description }) };
      // Another browser that got the URL has another session. A browser that was signed out in between has no session.
      const here = await signedIn(ctx, client);
      return here?.oid === oid ? { client, state, signedIn: here } : { client, state, error: 'login_required' };
    },
  };
}
