import { epochSeconds } from '../../times/epoch-seconds.js';
import { type Class, membersOf, type Payload } from './base-model.js';

/** Members of an access token or a client credentials token that the hooks need. */
export interface AccessTokenModel {
  readonly kind: 'AccessToken' | 'ClientCredentials';
  readonly jti: string;
  readonly clientId: string;
  readonly accountId?: string;
  readonly grantId?: string;
  readonly scope?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly sid?: string;
  readonly jkt?: string;
  readonly 'x5t#S256'?: string;
  /** The resource that the request named. @see RFC 8707 §2.2 */
  readonly aud?: string | readonly string[];
  readonly resourceServer?: { readonly accessTokenTTL?: number; readonly accessTokenFormat?: 'opaque' | 'jwt' };
  extra?: Record<string, unknown>;
}

/** Values of access tokens that are not opaque, and their ids. A token that this service did not issue has the id undefined. */
export interface StructuredTokens {
  sign(token: AccessTokenModel): undefined | Promise<string | undefined>;
  idOf(value: string): Promise<string | undefined>;
}

/** Creates the class that records signed access tokens like opaque tokens, so that signed tokens can be introspected, revoked and used at userinfo. */
export function accessTokenClass(Base: Class, structured: StructuredTokens, now: () => number): Class {
  return class extends Base {
    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), 'structured'];
    }

    async getValueAndPayload(): Promise<{ value: string; payload?: Payload }> {
      // models/formats/opaque.js would use the node's own clock.
      this.iat ||= epochSeconds(now());
      const { value, payload } = await super.getValueAndPayload();
      const signing = structured.sign(Object.assign(this, payload) as unknown as AccessTokenModel);
      const signed = signing && (await signing);
      return signed === undefined ? { value, payload } : { value: signed, payload: { ...payload, structured: true } };
    }

    /** Finds a token by its value. The id of a signed token is public (its `jti`), so the id alone must find nothing. */
    static override async find(value: string, ...rest: unknown[]): Promise<{ structured?: boolean } | undefined> {
      const id = typeof value === 'string' && (value.includes('.') || value.includes('~')) ? await structured.idOf(value) : value;
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const token: { structured?: boolean } | undefined = id === undefined ? undefined : await super.find?.(id, ...rest);
      return token && (token.structured === true) === (id !== value) ? token : undefined;
    }
  };
}
