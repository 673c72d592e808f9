import { hash, timingSafeEqual } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Artifact } from '../../store/artifact-store.js';
import type { Sealer } from '../../store/sealer.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';
import { partsOfSessionId } from './ids.js';
import { modelOf } from './models.js';
import { textOf } from './short-form.js';
import { readStored } from './stored-records.js';

/** Form of a protocol record in the store. Nothing in it can be replayed. */
export interface StoredForm {
  /** Returns the value of an artifact, whose `account` is the payload's `accountId` if the model is listed by account. */
  encode(model: string, id: string, payload: AdapterPayload): string;
  /** Returns undefined if the record does not belong to this id, or is damaged. */
  decode(model: string, id: string, record: Pick<Artifact, 'value' | 'expiresAt' | 'account'>): AdapterPayload | undefined;
}

type Json = Record<string, unknown>;

const digest = (secret: string): string => hash('sha256', secret, 'base64url');

export function createStoredForm(sealer: Sealer, resumeUrl: (uid: string) => string): StoredForm {
  return {
    encode(model, id, payload) {
      // The store key and the end of the record hold these members. Members that are set to undefined would make JSON several times slower.
      const { jti: _, kind: __, exp: ___, ...members } = payload;
      const record: Json = members;
      // Only a token that ends with its session needs this member.
      if (record.sessionUid !== undefined && !payload.expiresWithSession) record.sessionUid = undefined;
      const { form } = modelOf(model);
      if (form === 'session') {
        // Removes these members so that an unchanged session has the same text.
        record.uid = record.iat = undefined;
        record.secretHash = digest(partsOfSessionId(id)?.secret ?? '');
      }
      if (form === 'pushed request') record.request = forAnyClock(record.request);
      if (form === 'interaction') {
        record.returnTo = undefined;
        if (record.session) record.session = { ...(record.session as Json), cookie: undefined };
        if (typeof record.parJti === 'string') record.parJti = sealer.encrypt('interaction', id, record.parJti);
      }
      return textOf(model, record);
    },
    decode(model, id, artifact) {
      const record = readStored<Json>(model, artifact);
      if (!record) return undefined;
      record.exp = Math.floor(artifact.expiresAt / 1000);
      const { form } = modelOf(model);
      if (form === 'session') {
        const parts = partsOfSessionId(id);
        if (parts && !isSame(digest(parts.secret), record.secretHash)) return undefined;
        record.uid = parts?.uid ?? id;
        record.secretHash = undefined;
        return Object.assign(record, parts ? { kind: model, jti: id } : { kind: model }) as AdapterPayload;
      }
      if (form === 'interaction') {
        record.returnTo = resumeUrl(id);
        if (typeof record.parJti === 'string') record.parJti = sealer.decrypt('interaction', id, record.parJti);
      }
      return Object.assign(record, { kind: model, jti: id }) as AdapterPayload;
    },
  };
}

const isSame = (a: string, b: unknown): boolean =>
  typeof b === 'string' && a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/**
 * Stores pushed parameters as a request object without a signature. The node that reads the object checks it by the node's own clock. The times of the
 * object are moved apart by the maximum difference of clocks, because the end of its record decides when the object ends.
 * @param request the object, or its claims.
 */
function forAnyClock(request: unknown): unknown {
  if (typeof request === 'object' && request !== null) return `${UNSIGNED}.${movedApart(request as Json)}.`;
  if (typeof request !== 'string' || !request.endsWith('.')) return request;
  const [header = '', text = ''] = request.split('.');
  return `${header}.${movedApart(JSON.parse(Buffer.from(text, 'base64url').toString()) as Json)}.`;
}

const encoded = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Header of an unsigned JWT. @see RFC 7519 §6 */
const UNSIGNED = encoded({ alg: 'none' });

function movedApart(claims: Json): string {
  const { nbf, exp } = claims;
  return encoded({
    ...claims,
    ...(typeof nbf === 'number' ? { nbf: nbf - MAX_APART_SECONDS } : {}),
    ...(typeof exp === 'number' ? { exp: exp + MAX_APART_SECONDS } : {}),
  });
}
