/** Access tokens of the client itself. Each token is used until shortly before it expires. @see RFC 6749 §4.4 */
import { adminApiError, refusalOf } from './admin-api-error.js';

/** Seconds before its expiry at which a token is replaced, because requests take time and clocks differ. */
const MARGIN_SECONDS = 30;

export interface AccessTokens {
  /** Returns the current token. Concurrent calls share one token request. */
  current(): Promise<string>;
  /** Discards a token that the service refused. */
  drop(token: string): void;
}

export interface AccessTokensOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** Returns the URL of the token endpoint. */
  readonly url: () => Promise<string>;
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
}

interface Kept {
  readonly token: string;
  /** Milliseconds since the epoch until which the token is used. */
  readonly usableUntil: number;
}

export function createAccessTokens({ clientId, clientSecret, scopes, url, send }: AccessTokensOptions): AccessTokens {
  let kept: Kept | undefined;
  let asking: Promise<Kept> | undefined;

  async function ask(): Promise<Kept> {
    const askedAt = Date.now();
    const response = await send(await url(), {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') }).toString(),
    });
    if (!response.ok) throw await refusalOf(response, 'no access token');
    const { access_token: token, expires_in: seconds } = (await response.json()) as { access_token?: unknown; expires_in?: unknown };
    if (typeof token !== 'string') throw adminApiError('no access token', { status: response.status, code: 'unexpected_answer' });
    const lifetime = typeof seconds === 'number' ? seconds : 0;
    return { token, usableUntil: askedAt + Math.max(lifetime - MARGIN_SECONDS, lifetime / 2) * 1000 };
  }

  return {
    async current() {
      if (kept && Date.now() < kept.usableUntil) return kept.token;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      kept = await asking;
      return kept.token;
    },
    drop(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

/** @see RFC 6749 §2.3.1 */
const formEncoded = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
