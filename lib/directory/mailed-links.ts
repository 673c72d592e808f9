import { timingSafeEqual } from 'node:crypto';
import { parse, stringify } from 'uuid';
import type { Sealer } from '../store/sealer.js';

/** One mailed link of an invitation, a reset or a proof. Each mailed link that replaces another has a higher serial. */
export interface LinkRef {
  readonly id: string;
  readonly serial: number;
}

/** Mailed links. The service derives them from its hash keys when they are needed, so that no mailed link is stored. */
export interface MailedLinks {
  /** Returns the token of a mailed link. The result is the same each time. */
  tokenOf(ref: LinkRef): string;
  /** Returns the mailed link of a token; undefined for a token that this service did not create. */
  read(token: string): LinkRef | undefined;
}

/** `replaced`: a newer mailed link replaced this one. `unavailable`: the user cannot use the mailed link now. */
export type LinkState = 'pending' | 'used' | 'replaced' | 'expired' | 'unavailable';

/** The newest mailed link as the user's record has it. */
interface NewestLink {
  readonly serial: number;
  readonly usedAt?: Date;
  readonly expiresAt: Date;
}

/** @param now milliseconds since the epoch, by the time that all nodes share */
export function linkState({ serial }: LinkRef, newest: NewestLink, isUsable: boolean, now: number): LinkState {
  if (serial !== newest.serial) return 'replaced';
  if (newest.usedAt !== undefined) return 'used';
  if (newest.expiresAt.getTime() <= now) return 'expired';
  return isUsable ? 'pending' : 'unavailable';
}

/** Returns the URLs of the pages of mailed links, by purpose. @param base the URL of the service's own pages. */
export const linkPages = (base: string) => ({
  invitation: (token: string): string => `${base}/invitations/${token}`,
  reset: (token: string): string => `${base}/password/${token}`,
  proof: (token: string): string => `${base}/email/${token}`,
  stop: (token: string): string => `${base}/email/stop/${token}`,
});

/** Form of a token: the id, the serial, and a keyed hash of both. */
const pattern = /^([\w-]{22})\.([1-9]\d{0,8})\.([\w-]{43})$/;

/** @param purpose of the mailed links. A mailed link of another purpose is invalid. */
export function createMailedLinks({ hashes }: Pick<Sealer, 'hashes'>, purpose: string): MailedLinks {
  const secretsOf = ({ id, serial }: LinkRef) => hashes(purpose, JSON.stringify([id, serial]));
  return {
    tokenOf(ref) {
      const [secret] = secretsOf(ref);
      return `${Buffer.from(parse(ref.id)).toString('base64url')}.${ref.serial}.${secret}`;
    },
    read(token) {
      const [, shortId, serial, secret = ''] = pattern.exec(token) ?? [];
      if (shortId === undefined) return undefined;
      const ref = { id: idOf(shortId), serial: Number(serial) };
      if (ref.id === undefined) return undefined;
      const given = Buffer.from(secret);
      const isOurs = secretsOf(ref as LinkRef).some((own) => timingSafeEqual(Buffer.from(own), given));
      return isOurs ? (ref as LinkRef) : undefined;
    },
  };
}

/** Returns the UUID of a short id; undefined for bytes that are not a UUID. */
function idOf(shortId: string): string | undefined {
  try {
    return stringify(Buffer.from(shortId, 'base64url'));
  } catch {
    return undefined;
  }
}
