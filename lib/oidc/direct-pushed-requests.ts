/**
 * Pushed requests that differ from one that oidc-provider accepted only in what is new each time. Whether a client may send such a request at
 * all is oidc-provider's to say, once; it is asked again when the client or the scopes that exist changed.
 */

import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { AdapterPayload, KoaContextWithOIDC } from 'oidc-provider';
import { isClient } from './clients.js';
import { authenticated, type DirectAnswer, type DirectParts, send } from './direct.js';
import { createId } from './ids.js';
import { recordOf } from './internals.js';
import { perRequest } from './per-request.js';
import { type PlainForm, plainForm } from './plain-request.js';
import { PUSHED_LIFETIME, pushedRequest, requestUriOf } from './pushed-reference.js';

/** What is new each time, and what it looks like when nothing is wrong with it. */
const fresh: Readonly<Record<string, RegExp>> = {
  state: /^[\x20-\x7e]{1,512}$/,
  nonce: /^[\x20-\x7e]{1,512}$/,
  code_challenge: /^[\w-]{43}$/,
};

/** Kinds of requests that are remembered, over all clients, and how long one may be in characters. */
const MAX_KINDS = 1000;
const MAX_KIND = 2000;

type Parameters = Readonly<Record<string, unknown>>;

interface Kind {
  readonly text: string;
  readonly record: object;
  readonly known: ReadonlySet<string>;
}

interface Accepted extends Omit<Kind, 'text'> {
  readonly parameters: Parameters;
}

/** @see RFC 9126 §2 */
export function createDirectPushedRequests({ parts, scopes, findClient }: DirectParts): {
  readonly answer: DirectAnswer;
  /** Remembers what oidc-provider accepted. */
  learn(ctx: KoaContextWithOIDC): void;
} {
  const { adapters, options } = parts;
  const accepted = new LRUCache<string, Accepted>({ max: MAX_KINDS });
  const asked = perRequest((): { kind?: Kind } => ({}));

  const store = async (ctx: Context, clientId: string, parameters: Parameters): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    const exp = now + PUSHED_LIFETIME;
    const id = createId('PushedAuthorizationRequest');
    const unit = adapters.unitOf(ctx);
    const record = { iat: now, exp, request: pushedRequest(options, clientId, parameters, now), trusted: true };
    adapters.tokens.put(unit, 'PushedAuthorizationRequest', id, record as unknown as AdapterPayload, exp);
    await unit.commit();
    return requestUriOf(id);
  };

  return {
    async answer(ctx) {
      const form = await plainForm(ctx);
      if (!form) return false;
      const client = await authenticated(form, findClient);
      const record = client && recordOf(client);
      const text = client && kindOf(form.fields, client.clientId);
      if (!client || !isClient(record) || text === undefined) return false;
      const known = scopes.known(ctx);
      const before = accepted.get(text);
      if (before?.record !== record || before.known !== known) {
        asked(ctx).kind = { text, record, known };
        return false;
      }
      const parameters: Record<string, unknown> = { ...before.parameters };
      for (const name in fresh) if (form.fields[name] !== undefined) parameters[name] = form.fields[name];
      const uri = await store(ctx, client.clientId, parameters);
      ctx.status = 201;
      send(ctx, { expires_in: PUSHED_LIFETIME, request_uri: uri });
      return true;
    },

    learn(ctx) {
      const { kind } = asked(ctx);
      if (!kind || ctx.status !== 201) return;
      const parameters = Object.entries(ctx.oidc.params ?? {}).filter(
        ([name, value]) => value !== undefined && !Object.hasOwn(fresh, name),
      );
      accepted.set(kind.text, { record: kind.record, known: kind.known, parameters: Object.fromEntries(parameters) });
    },
  };
}

/** All that is not new each time, and who asks; undefined when it is not plain. */
function kindOf(fields: PlainForm['fields'], clientId: string): string | undefined {
  // Another challenge is kept than the one that came.
  if (fields.code_challenge_method === 'plain') return undefined;
  let text = JSON.stringify(clientId);
  for (const name in fields) {
    const value = fields[name] as string;
    const pattern = Object.hasOwn(fresh, name) ? fresh[name] : undefined;
    if (pattern ? !pattern.test(value) : structured.has(name)) return undefined;
    if (pattern) text += `,${name}`;
    else if (name !== 'client_secret') text += `,${JSON.stringify([name, value])}`;
  }
  return text.length <= MAX_KIND ? text : undefined;
}

/** They are kept in another form than they came, or hold for a while only. */
const structured = new Set(['request', 'claims', 'authorization_details', 'dpop_jkt', 'id_token_hint', 'login_hint_token', 'sso_token']);
