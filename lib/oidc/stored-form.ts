import { hash, timingSafeEqual } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Keyring } from '../store/keyring.js';
import { partsOfSessionId } from './ids.js';

/** What a protocol record looks like at rest: nothing in it can be replayed. */
export interface StoredForm {
  encode(model: string, id: string, payload: AdapterPayload): string;
  /** undefined when the record does not belong to this id. */
  decode(model: string, id: string, value: string): AdapterPayload | undefined;
}

type Json = Record<string, unknown>;

const digest = (secret: string): string => hash('sha256', secret, 'base64url');

export function createStoredForm(keyring: Keyring, resumeUrl: (uid: string) => string): StoredForm {
  return {
    encode(model, id, { jti: _id, kind: _kind, ...rest }) {
      const record: Json = rest;
      if (model === 'Session') {
        delete record.uid;
        record.secretHash = digest(partsOfSessionId(id)?.secret ?? '');
      }
      if (model === 'Interaction') {
        delete record.returnTo;
        const { cookie: _cookie, ...session } = (record.session ?? {}) as Json;
        if (record.session) record.session = session;
        if (typeof record.parJti === 'string') record.parJti = keyring.encrypt('interaction', id, record.parJti);
      }
      return JSON.stringify(record);
    },
    decode(model, id, value) {
      const record = JSON.parse(value) as Json;
      if (model === 'Session') {
        const parts = partsOfSessionId(id);
        if (parts && !isSame(digest(parts.secret), record.secretHash)) return undefined;
        record.uid = parts?.uid ?? id;
        delete record.secretHash;
        return (parts ? { ...record, kind: model, jti: id } : { ...record, kind: model }) as AdapterPayload;
      }
      if (model === 'Interaction') {
        record.returnTo = resumeUrl(id);
        if (typeof record.parJti === 'string') record.parJti = keyring.decrypt('interaction', id, record.parJti);
      }
      return Object.assign(record, { kind: model, jti: id }) as AdapterPayload;
    },
  };
}

const isSame = (a: string, b: unknown): boolean =>
  typeof b === 'string' && a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
