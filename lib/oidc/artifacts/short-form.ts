/**
 * Short form of sessions and grants, as the store has them: members have short names, and nothing is said twice. The rest of the service knows the long form
 * only. `stored-records` reads the short form with checks. The text has no `accountId`, because the artifact names the account: each write of such a text
 * gives the artifact the record's `accountId` as its `account`.
 */
import type { Artifact } from '../../store/artifact-store.js';

type Members = Readonly<Record<string, unknown>>;
type Item = Record<string, unknown>;

/** Names of members in the store: of sessions and grants, and of the objects in them. Another member keeps its name, which has more than one letter. */
const shortNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    accountId: 'A',
    address: 'd',
    amr: 'a',
    authTime: 't',
    authorizations: 'z',
    browser: 'b',
    clientId: 'c',
    consent: 'k',
    exp: 'e',
    grantId: 'g',
    grants: 'G',
    iat: 'i',
    idp: 'p',
    login: 'l',
    loginTs: 'T',
    openid: 'o',
    owner: 'w',
    persistsLogout: 'q',
    proof: 'f',
    secretHash: 'h',
    session: 'n',
    sessionEndsAt: 'E',
    sid: 's',
    signIn: 'N',
    sub: 'u',
    system: 'y',
    unrecorded: 'U',
  }),
);
const longNames: ReadonlyMap<string, string> = new Map([...shortNames].map(([long, short]) => [short, long]));

/** Stored `sub` of a sign-in that has none, because a sign-in without a stored `sub` has the account's own id. */
const NO_SUB = 0;
/** Stored `owner` that is the account. */
const OWN = 1;
/** Stored `grantId` in `authorizations` if the last grant of the client in `grants` has the same `grantId` and `sid`. */
const OF_GRANT = 1;

/** Returns the text of a record, as the store has it. */
export function textOf(model: string, record: object): string {
  const members = record as Members;
  return JSON.stringify(model === 'Session' ? shortSession(members) : model === 'Grant' ? shortGrant(members) : members);
}

/** Returns the record in an artifact, with members of any types. @throws SyntaxError */
export function recordIn(model: string, { value, account }: Pick<Artifact, 'value' | 'account'>): unknown {
  const stored: unknown = JSON.parse(value);
  if (!isMembers(stored)) return stored;
  return model === 'Session' ? longSession(stored, account) : model === 'Grant' ? longGrant(stored, account) : stored;
}

const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the members that are defined, by other names. */
function renamed(members: Members, names: ReadonlyMap<string, string>): Item {
  const result: Item = {};
  for (const name of Object.keys(members)) if (members[name] !== undefined) result[names.get(name) ?? name] = members[name];
  return result;
}

function shortSession(record: Members): Item {
  const { accountId, grants, authorizations } = record;
  const members = { ...record, accountId: undefined } as Item;
  if (Array.isArray(grants)) members.grants = grants.map((grant) => ofSessionGrant(grant, accountId));
  if (isMembers(authorizations)) members.authorizations = shortAuthorizations(authorizations, grants);
  return shortSignIn(members, accountId);
}

function longSession(stored: Members, accountId: string | undefined): Item {
  const record = longSignIn(stored, accountId);
  const { grants, authorizations } = record;
  if (Array.isArray(grants))
    record.grants = grants.map((grant) => (isMembers(grant) ? { accountId, ...renamed(grant, longNames) } : grant));
  if (isMembers(authorizations)) record.authorizations = longAuthorizations(authorizations, record.grants);
  return accountId === undefined ? record : Object.assign(record, { accountId });
}

function shortGrant(record: Members): Item {
  const { accountId, login, iat } = record;
  const members = { ...record, accountId: undefined } as Item;
  if (isMembers(login)) members.login = shortSignIn({ ...login, authTime: login.authTime === iat ? undefined : login.authTime }, accountId);
  return renamed(members, shortNames);
}

function longGrant(stored: Members, accountId: string | undefined): Item {
  const record = renamed(stored, longNames);
  const { login, iat } = record;
  if (isMembers(login)) record.login = { authTime: iat, ...longSignIn(login, accountId) };
  return accountId === undefined ? record : Object.assign(record, { accountId });
}

/** Returns the short form of a sign-in. Ids that follow from the account are left out or shortened. A session without an account has no sign-in. */
function shortSignIn(members: Members, accountId: unknown): Item {
  if (accountId === undefined) return renamed(members, shortNames);
  const { sub, owner, ...others } = members;
  const short = renamed(others, shortNames);
  if (owner !== undefined) short.w = owner === accountId ? OWN : owner;
  if (sub !== accountId) short.u = sub ?? NO_SUB;
  return short;
}

function longSignIn(stored: Members, accountId: unknown): Item {
  const record = renamed(stored, longNames);
  if (accountId === undefined) return record;
  if (record.owner === OWN) record.owner = accountId;
  if (record.sub === undefined) record.sub = accountId;
  else if (record.sub === NO_SUB) record.sub = undefined;
  return record;
}

/** Returns an item of `grants`, without an account that the session has. */
function ofSessionGrant(grant: unknown, accountId: unknown): unknown {
  if (!isMembers(grant)) return grant;
  const { accountId: ofGrant, ...others } = grant;
  return renamed({ accountId: ofGrant === accountId ? undefined : ofGrant, ...others }, shortNames);
}

/** Returns the last grant of each client in the list of a session. */
const lastGrants = (grants: unknown): ReadonlyMap<unknown, Members> =>
  new Map((Array.isArray(grants) ? grants.filter(isMembers) : []).map((grant) => [grant.clientId, grant]));

function shortAuthorizations(authorizations: Members, grants: unknown): Members {
  const last = lastGrants(grants);
  const short = ([clientId, authorization]: [string, unknown]): [string, unknown] => {
    if (!isMembers(authorization)) return [clientId, authorization];
    const { grantId, sid } = authorization;
    const grant = last.get(clientId);
    const isOfGrant = grantId !== undefined && grantId === grant?.grantId && sid === grant.sid;
    return [clientId, renamed(isOfGrant ? { ...authorization, sid: undefined, grantId: OF_GRANT } : authorization, shortNames)];
  };
  return Object.fromEntries(Object.entries(authorizations).map(short));
}

function longAuthorizations(authorizations: Members, grants: unknown): Members {
  const last = lastGrants(grants);
  const long = ([clientId, authorization]: [string, unknown]): [string, unknown] => {
    if (!isMembers(authorization)) return [clientId, authorization];
    const members = renamed(authorization, longNames);
    if (members.grantId !== OF_GRANT) return [clientId, members];
    const { sid, grantId } = last.get(clientId) ?? {};
    return [clientId, { sid, ...members, grantId }];
  };
  return Object.fromEntries(Object.entries(authorizations).map(long));
}
