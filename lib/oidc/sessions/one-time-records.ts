import { randomBytes } from 'node:crypto';
import { hashedKey } from '../../store/artifact-key.js';
import { nodeTime } from '../../times/node-time.js';
import type { OidcDependencies } from '../context.js';

/** Milliseconds in which a browser has to follow a redirect. */
const KEPT_MS = 60_000;

/** Values for a redirected browser, encrypted and stored under a reference that cannot be guessed, for one use. */
export interface OneTimeRecords<T> {
  /** Stores a value. @returns the reference. */
  keep(value: T): Promise<string>;
  /** Returns the value, once. @param note stored in place of the value, for a browser that lost the answer and sends the request again. */
  take(reference: unknown, note?: string): Promise<T | undefined>;
  /** Returns the note of a record that was taken; undefined for any other record. */
  noteOf(reference: string): Promise<string | undefined>;
}

/** @param purpose keeps records of different uses apart. */
export function createOneTimeRecords<T>(
  { artifacts, sealer }: Pick<OidcDependencies, 'artifacts' | 'sealer'>,
  { kind, purpose }: { readonly kind: string; readonly purpose: string },
): OneTimeRecords<T> {
  const keyOf = (reference: string) => hashedKey(kind, reference);
  return {
    async keep(value) {
      const reference = randomBytes(32).toString('base64url');
      const sealed = sealer.encrypt(purpose, reference, JSON.stringify(value));
      await artifacts.commit([{ op: 'put', key: keyOf(reference), value: sealed, expiresAt: nodeTime() + KEPT_MS }]);
      return reference;
    },
    async take(reference, note) {
      if (typeof reference !== 'string') return undefined;
      const key = keyOf(reference);
      const kept = (await artifacts.read([{ key }])).get(key);
      if (!kept || kept.consumedAt !== undefined) return undefined;
      const value = note === undefined ? '' : sealer.encrypt(purpose, reference, note);
      const spent = { op: 'put', key, value, expiresAt: kept.expiresAt, consumedAt: nodeTime(), if: 'unconsumed' } as const;
      const { ok } = await artifacts.commit([spent]);
      return ok ? (JSON.parse(sealer.decrypt(purpose, reference, kept.value)) as T) : undefined;
    },
    async noteOf(reference) {
      const key = keyOf(reference);
      const kept = (await artifacts.read([{ key }])).get(key);
      return kept?.consumedAt === undefined || kept.value === '' ? undefined : sealer.decrypt(purpose, reference, kept.value);
    },
  };
}
