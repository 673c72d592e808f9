import { timingSafeEqual } from 'node:crypto';
import { parse, stringify } from 'uuid';
import type { Sealer } from '../store/sealer.js';

/** One link of an invitation, a reset, a proof: with each that takes the place of another, the serial grows. */
export interface LinkRef {
  readonly id: string;
  readonly serial: number;
}

/** Links are made from the keys of the service when somebody needs one, so that none is kept. */
export interface MailedLinks {
  /** The same each time. */
  tokenOf(ref: LinkRef): string;
  /** What a token is of; undefined for one that was not made here. */
  read(token: string): LinkRef | undefined;
}

/** `replaced`: a newer link took the place of this one. `unavailable`: the user can do nothing with it now. */
export type LinkState = 'pending' | 'used' | 'replaced' | 'expired' | 'unavailable';

/** What a user's record says of the newest link. */
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

/** The pages of links, by what their links do. @param base the URL of the service's own pages. */
export const linkPages = (base: string) => ({
  invitation: (token: string): string => `${base}/invitations/${token}`,
  reset: (token: string): string => `${base}/password/${token}`,
  proof: (token: string): string => `${base}/email/${token}`,
  stop: (token: string): string => `${base}/email/stop/${token}`,
});

/** The id, the serial, and a keyed hash of both. */
const pattern = /^([\w-]{22})\.([1-9]\d{0,8})\.([\w-]{43})$/;

/** @param purpose what its links do: a link of another purpose is none. */
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

/** Undefined for bytes that are no UUID. */
function idOf(shortId: string): string | undefined {
  try {
    return stringify(Buffer.from(shortId, 'base64url'));
  } catch {
    return undefined;
  }
}
