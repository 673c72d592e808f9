/** Clients of the rows, each with the way in which it authenticates. */
import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import { authorizationOf, clientKey, escapedAuthorizationOf, origin, unusualHeadersOf } from '../world.js';

type Texts = Readonly<Record<string, string>>;

export interface Application {
  readonly id: string;
  /** Headers of each request that the application sends by itself. */
  readonly headers: Texts;
  /** Returns form fields that authenticate the application. @param issuer the audience of an assertion */
  fields(issuer: string): Texts;
}

const byHeaders = (id: string, headers: Texts): Application => ({ id, headers, fields: () => ({}) });

/** Authenticates by `client_secret_basic`. */
export const bySecret = (id: string): Application => byHeaders(id, { authorization: authorizationOf(id) });
/** Authenticates by a secret with an escape. */
export const byEscapedSecret = (id: string): Application => byHeaders(id, { authorization: escapedAuthorizationOf(id) });
/** Authenticates by a secret, and names a character set in a way that this library leaves to oidc-provider. */
export const byUnusualRequest = (id: string): Application => byHeaders(id, unusualHeadersOf(id));

export const publicApplication: Application = { id: 'web-public', headers: {}, fields: () => ({ client_id: 'web-public' }) };

/** Sends the requests of an application as a browser does. */
export const inBrowser = (application: Application): Application => ({
  ...application,
  headers: { ...application.headers, origin },
});

const key = createPrivateKey({ key: clientKey, format: 'jwk' });
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = encoded({ alg: 'ES256', kid: clientKey.kid });

/** Authenticates by `private_key_jwt`, with an assertion for each request. */
export const byPrivateKey = (id: string): Application => ({
  id,
  headers: {},
  fields(issuer) {
    const now = Math.floor(Date.now() / 1000);
    const payload = encoded({ iss: id, sub: id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 60 });
    const signed = `${header}.${payload}`;
    const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
    return {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${signed}.${signature}`,
    };
  },
});
