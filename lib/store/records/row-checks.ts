/**
 * Records: what each durable collection holds.
 *
 * This file checks the form of rows when they are read. A check covers the members that code relies on, and no more. It finds rows that an
 * administrator, a restore or another program damaged. Plain functions, so nothing is compiled at start.
 */
import { isDate } from 'node:util/types';
import { referenceToken } from '../../text/json-pointer.js';
import type { CollectionName } from './collections.js';
import type * as records from './records.js';
import type { RemovedRow } from './removed-rows.js';

/** Returns a JSON Pointer to the first malformed part of a value: empty for the value itself, undefined for a sound value. */
type Check = (value: unknown) => string | undefined;

/** @see RFC 6901 §3 */
const pointerTo = (name: string, within: string): string => `/${referenceToken(name)}${within}`.slice(0, 200);

/** Returns a pointer to the first malformed member, each of which has a check of its own. */
function firstWrongMember(checks: Readonly<Record<string, Check>>, value: Readonly<Record<string, unknown>>): string | undefined {
  for (const name in checks) {
    const within = checks[name]?.(value[name]);
    if (within !== undefined) return pointerTo(name, within);
  }
  return undefined;
}

/** Returns a pointer to the first malformed part of a list or a map, whose parts have one check. */
function firstWrong(check: Check, parts: readonly unknown[] | Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, part] of Object.entries(parts)) {
    const within = check(part);
    if (within !== undefined) return pointerTo(name, within);
  }
  return undefined;
}
/** Every member of a record has its check. */
type Checks<R> = { readonly [Member in keyof Required<R>]: Check };

/** More than any value that the services write; a row that is larger holds up whoever reads it. */
const TEXT_LENGTH = 65_536;
const LIST_LENGTH = 100_000;
/** Texts and members of what plugins and metadata keep. */
const DATA_SIZE = 4_194_304;

const when =
  (holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : '';
const text = when((value) => typeof value === 'string' && value.length <= TEXT_LENGTH);
const flag = when((value) => typeof value === 'boolean');
/** With room to count on. */
const count = when((value) => Number.isSafeInteger(value) && Math.abs(value as number) <= 2 ** 52);
const instant = when((value) => isDate(value) && Number.isFinite(value.getTime()));
const anything: Check = () => undefined;
const oneOf = (...values: readonly string[]): Check => when((value) => values.includes(value as string));
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length <= LIST_LENGTH ? firstWrong(check, value) : '';
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isDate(value);
const record =
  <R>(checks: Checks<R>): Check =>
  (value) =>
    isRecord(value) ? firstWrongMember(checks, value) : '';
const mapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) ? firstWrong(check, value) : '';
const data = when((value) => isRecord(value) && sizeOf(value, DATA_SIZE) >= 0);

/** What is left of the size when the value has taken its part; below zero when that is too much. */
function sizeOf(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left - 1;
  let rest = left - 1;
  for (const [name, member] of Object.entries(value)) {
    rest = sizeOf(member, rest - name.length);
    if (rest < 0) return rest;
  }
  return rest;
}

const row: Checks<records.Stored> = { id: text, version: count, createdAt: instant, updatedAt: instant };
const activity = oneOf('active', 'disabled');
const texts = listOf(text);

const pendingEvent: Checks<records.PendingEvent> = {
  id: text,
  type: text,
  time: instant,
  subject: text,
  tid: optional(text),
  actor: optional(text),
  act: optional(text),
  requestId: optional(text),
  data,
};
const outbox = { pendingEvents: listOf(record(pendingEvent)), outbox: optional(oneOf('yes')) };
/** Of records that were kept before they had events. */
const named: Checks<records.Named> = { ...row, nameKey: optional(text), ...outbox, pendingEvents: optional(outbox.pendingEvents) };
const branding = record<records.Branding>({
  logoUri: optional(text),
  faviconUri: optional(text),
  accentColor: optional(text),
  radius: optional(count),
  font: optional(oneOf('system', 'humanist', 'rounded', 'serif')),
});
const secrets = listOf(record<records.HashedSecret>({ hash: text, expiresAt: optional(instant) }));
const signIn = record<Required<records.Tenant>['signIn']>({
  methods: optional(texts),
  requireMfa: optional(flag),
  selfRegistration: optional(flag),
  accountLinks: optional(flag),
});

const voucher = optional(
  record<records.Voucher>({ by: oneOf('operator', 'person', 'tenant'), tids: optional(texts), permissionIds: optional(texts) }),
);
const mailedLink = {
  serial: count,
  requestId: text,
  mailing: optional(text),
  expiresAt: instant,
  usedAt: optional(instant),
  clientId: optional(text),
};
const user = record<records.User>({
  id: text,
  userName: text,
  userNameKey: text,
  emailVerified: flag,
  parentUserId: optional(text),
  parentVouchedBy: voucher,
  credentialVouchers: optional(
    listOf(record<records.CredentialVoucher>({ kind: text, id: optional(text), revision: text, vouchedBy: voucher })),
  ),
  isParent: flag,
  childUserIds: optional(texts),
  groupIds: texts,
  status: oneOf('invited', 'active', 'disabled'),
  statusBefore: optional(oneOf('invited', 'active')),
  isSelfRegistered: optional(flag),
  notBefore: optional(instant),
  spared: optional(record<records.SparedSession>({ session: text, notBefore: instant, before: optional(instant), cause: text })),
  externalIdentities: listOf(
    record<records.ExternalIdentity>({ idp: text, subject: text, vouchedBy: voucher, isAcknowledged: optional(flag) }),
  ),
  externalIdentityKeys: texts,
  invitation: optional(
    record<records.UserInvitation>({
      id: text,
      serial: count,
      expiresAt: instant,
      send: flag,
      fetches: optional(count),
      mailing: optional(text),
      once: optional(text),
      vouchedBy: voucher,
    }),
  ),
  accepted: optional(record<records.AcceptedInvitation>({ id: text, at: instant, credentialId: optional(text), by: optional(text) })),
  newPassword: optional(record<records.NewPassword>({ serial: count, at: instant, credentialId: text, endsSignIns: flag })),
  passwordReset: optional(record<records.PasswordReset>({ ...mailedLink, uid: optional(text), vouchedBy: voucher })),
  emailProof: optional(
    record<records.EmailProof>({
      ...mailedLink,
      address: text,
      askedWith: optional(record<Required<records.EmailProof>['askedWith']>({ at: count, credentials: text })),
      former: optional(text),
      stoppedAt: optional(instant),
      vouchedBy: voucher,
    }),
  ),
  provenEmail: optional(text),
  provenEmailVouchedBy: voucher,
  formerEmails: optional(texts),
});

/** Lists that whoever registers the client with oidc-provider goes through. */
const metadata: Check = (value) => data(value) ?? firstWrongMember(metadataLists, value as Readonly<Record<string, unknown>>);
const metadataLists = Object.fromEntries(
  ['redirect_uris', 'post_logout_redirect_uris', 'request_uris', 'response_types', 'grant_types'].map((name) => [name, optional(texts)]),
);
const seconds = optional(when((value) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER));

const sweptRows = listOf(record<records.SweptRow>({ collection: text, id: text }));

const rowChecks: {
  readonly [Name in CollectionName]: Readonly<Record<string, Check>>;
} = {
  tenants: {
    ...named,
    name: text,
    uniqueName: optional(text),
    organisationNumber: optional(text),
    signIn: optional(signIn),
    branding: optional(branding),
    locale: optional(text),
    status: activity,
    notBefore: optional(instant),
  } satisfies Checks<records.Tenant>,
  subsidiaries: { ...named, tid: text, name: text, organisationNumber: optional(text) } satisfies Checks<records.Subsidiary>,
  persons: {
    ...named,
    ...outbox,
    tid: text,
    subsidiaryId: optional(text),
    givenName: optional(text),
    familyName: optional(text),
    email: optional(text),
    emailVouchedBy: voucher,
    secondEmail: optional(text),
    emailKey: optional(text),
    secondEmailKey: optional(text),
    hasUser: optional(oneOf('yes')),
    isLinked: optional(oneOf('yes')),
    parentNameKey: optional(text),
    phoneNumber: optional(text),
    phoneNumberVerified: flag,
    nationalId: optional(text),
    nationalIdHash: optional(text),
    pictureUrl: optional(text),
    externalId: optional(text),
    attributes: data,
    user: optional(user),
  } satisfies Checks<records.Person>,
  invitations: {
    ...row,
    tid: text,
    personId: text,
    userId: text,
    clientId: optional(text),
    clientName: optional(text),
    link: flag,
    locale: optional(text),
    send: flag,
    status: oneOf('pending', 'accepted', 'revoked'),
    expiresAt: instant,
    acceptedAt: optional(instant),
  } satisfies Checks<records.Invitation>,
  credentials: { ...row, passwordHash: optional(text), serial: optional(count) } satisfies Checks<records.Credential>,
  groups: {
    ...named,
    tid: text,
    name: text,
    permissionIds: texts,
    givesAdminScope: optional(oneOf('yes')),
  } satisfies Checks<records.Group>,
  permissions: { ...named, name: text, description: optional(text) } satisfies Checks<records.Permission>,
  clients: {
    ...named,
    name: text,
    metadata,
    secrets,
    allowedScopes: texts,
    requirePkce: optional(flag),
    fapi: optional(oneOf('2.0')),
    allowPlainPkce: flag,
    requireConsent: flag,
    accessTokenType: oneOf('reference', 'jwt'),
    idTokenClaims: oneOf('minimal', 'scopes'),
    email: optional(oneOf('all', 'first')),
    styles: optional(branding),
    lifetimes: record<records.Lifetimes>({
      accessToken: seconds,
      idToken: seconds,
      refreshTokenIdle: seconds,
      refreshTokenAbsolute: seconds,
      refreshTokenGrace: seconds,
      authenticationRequest: seconds,
    }),
    allowedTenants: optional(texts),
    introspects: oneOf('own', 'all'),
    adminTenants: texts,
    trustedLoginHint: flag,
    corsOrigins: texts,
    postRegistrationUri: optional(text),
    impersonation: optional(oneOf('allow', 'refuse')),
    status: activity,
    vouchedBy: voucher,
  } satisfies Checks<records.Client>,
  apiResources: {
    ...named,
    name: text,
    secrets,
    scopes: texts,
    scopeDescriptions: optional(mapOf((value) => (isRecord(value) ? mapOf(text)(value) : text(value)))),
    introspects: oneOf('own', 'all'),
    allowedTenants: optional(texts),
    introspectionSignedResponseAlg: optional(oneOf('RS256', 'ES256')),
    impersonation: optional(oneOf('allow', 'refuse')),
    status: activity,
  } satisfies Checks<records.ApiResource>,
  consents: {
    ...row,
    userId: text,
    clientId: text,
    scopes: texts,
    claims: optional(texts),
    at: instant,
    vouchedBy: voucher,
  } satisfies Checks<records.Consent>,
  // Nothing is signed without this one row, so its readers check each key and each event by itself.
  signingKeys: {
    id: text,
    version: count,
    createdAt: anything,
    updatedAt: anything,
    keys: anything,
    pendingEvents: anything,
    outbox: anything,
  } satisfies Checks<records.KeyRing>,
  events: {
    ...pendingEvent,
    id: when((value) => typeof value === 'string' && /^\d{16}$/.test(value)),
    version: count,
    eventId: text,
    recordedAt: instant,
    parkedAt: optional(instant),
  } satisfies Checks<records.EventRecord>,
  deliveries: {
    ...row,
    kind: text,
    data,
    batch: optional(text),
    state: oneOf('waiting', 'dead'),
    attempts: count,
    due: instant,
    problem: optional(text),
  } satisfies Checks<records.Delivery>,
  seeds: {
    id: text,
    version: count,
    recordId: text,
    recordCreatedAt: optional(instant),
    madeAt: optional(instant),
    values: listOf(record<records.SeedRecord['values'][number]>({ field: text, digest: text })),
    items: listOf(record<records.SeedRecord['items'][number]>({ field: text, item: text, isInSeed: flag })),
    isFound: optional(flag),
    isAfterRecords: optional(flag),
  } satisfies Checks<records.SeedRecord>,
  removedUsers: { id: text, version: count, sealed: optional(texts) } satisfies Checks<records.RemovedUser>,
  removals: { ...row, ...outbox, pendingEvents: optional(outbox.pendingEvents), by: data } satisfies Checks<records.Removal>,
  upkeep: {
    id: text,
    version: count,
    done: count,
    sealed: optional(texts),
    sweep: optional(
      record<Required<records.UpkeepRecord>['sweep']>({
        startedAt: instant,
        collection: optional(text),
        after: optional(text),
        unreadable: sweptRows,
        dangling: optional(sweptRows),
      }),
    ),
  } satisfies Checks<records.UpkeepRecord>,
  changes: { id: text, version: count, revisions: mapOf(count) } satisfies Checks<records.ChangeRecord>,
};

const sound =
  <R>(check: Check) =>
  (value: unknown): value is R =>
    check(value) === undefined;

/** Of a key in the one row of all: whether its parts are there. */
export const isSigningKey = sound<records.StoredSigningKey>(
  record<records.StoredSigningKey>({
    kid: text,
    alg: oneOf('RS256', 'ES256'),
    state: oneOf('next', 'active', 'retiring'),
    sealed: text,
    announcedAt: instant,
    activatedAt: optional(instant),
    retiredAt: optional(instant),
    removeAt: optional(instant),
  }),
);

/** What is left of a removed row until its events are dispatched. */
export const isRemainder = sound<RemovedRow>(record<RemovedRow>({ id: text, version: count, removedAt: instant, ...outbox }));

export const isPendingEvent = sound<records.PendingEvent>(record<records.PendingEvent>(pendingEvent));

/** Whether the collection is the service's. */
export const hasRowChecks = (collection: string): boolean => Object.hasOwn(rowChecks, collection);

/** Returns a JSON Pointer to the first part of a row that is malformed. */
export const wrongPath = (collection: string, row: object): string | undefined =>
  firstWrongMember(rowChecks[collection as CollectionName], row as Readonly<Record<string, unknown>>);
