/** Reading of stored sessions and grants. A damaged record reads as absent: the record gives no access, and stops neither a list nor a sign-out. */
import { isOfKind } from '../../store/artifact-key.js';
import type { Artifact } from '../../store/artifact-store.js';
import { recordIn } from './short-form.js';

type Members = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
/** Seconds since the epoch. */
const instant: Check = (value) => typeof value === 'number' && !Number.isNaN(new Date(value * 1000).getTime());
const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const members =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isMembers(value) && Object.entries(checks).every(([name, check]) => check(value[name]));

const act = optional(members({ oid: text, sub: text, tid: text }));
const signIn = { sub: optional(text), owner: optional(text), impersonation: optional(text), act, endsAt: optional(instant) };

/** Checks of the members that lists, exports and sign-outs read. */
const checks: Readonly<Record<string, Check>> = {
  Session: members({
    ...signIn,
    accountId: optional(text),
    loginTs: optional(instant),
    amr: optional(listOf(text)),
    idp: optional(text),
    browser: optional(text),
    system: optional(text),
    address: optional(text),
    aside: optional(members({ uid: text })),
    authorizations: optional((value) => isMembers(value) && Object.values(value).every(isMembers)),
    asked: optional(listOf(members({ mark: text }))),
    grants: optional(listOf(members({ clientId: text, grantId: text, accountId: text, sid: text, exp: instant }))),
  }),
  Grant: members({
    clientId: text,
    accountId: text,
    sid: optional(text),
    consent: optional((value) => typeof value === 'number'),
    login: optional(members({ ...signIn, authTime: instant, amr: listOf(text), idp: text, session: optional(text) })),
  }),
};

/** Returns the record in an artifact of the model. Undefined if the text of the artifact is damaged. */
export function readStored<T>(model: string, artifact: Pick<Artifact, 'value' | 'account'>): T | undefined {
  try {
    const record = recordIn(model, artifact);
    return (checks[model] ?? isMembers)(record) ? (record as T) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether an artifact is a session or a grant that is damaged. */
export const isDamaged = (artifact: Pick<Artifact, 'key' | 'value' | 'account'>): boolean =>
  Object.keys(checks).some((model) => isOfKind(artifact.key, model) && readStored(model, artifact) === undefined);
