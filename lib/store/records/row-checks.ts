/**
 * Records: what each durable collection holds.
 *
 * A record has one schema, in the file of its subject: `persons`, `organisations`, `clients`, `service-records`. The type of the record, and the check of
 * its stored rows, follow from the schema (`shape`). Forms of input pick members of the schema. `row-checks` has the checks of all collections.
 */
import { type TObject, Type } from '@sinclair/typebox';
import { apiResource, client, consent } from './clients.js';
import type { CollectionName } from './collections.js';
import { group, permission, subsidiary, tenant } from './organisations.js';
import { credential, invitation, person } from './persons.js';
import type { PendingEvent, StoredSigningKey } from './records.js';
import type { RemovedRow } from './removed-rows.js';
import {
  accountEventsRow,
  changeRecord,
  delivery,
  eventRecord,
  keyRing,
  removal,
  removedUser,
  seedRecord,
  storedSigningKey,
  upkeepRecord,
} from './service-records.js';
import { checkOf, checksOf, firstWrongMember } from './shape.js';
import { signInHistory } from './sign-ins.js';
import { outboxed, pendingEvent, stored } from './stored.js';

const schemas: { readonly [Name in CollectionName]: TObject } = {
  tenants: tenant,
  subsidiaries: subsidiary,
  persons: person,
  invitations: invitation,
  credentials: credential,
  groups: group,
  permissions: permission,
  clients: client,
  apiResources: apiResource,
  consents: consent,
  signIns: signInHistory,
  signingKeys: keyRing,
  events: eventRecord,
  deliveries: delivery,
  seeds: seedRecord,
  removedUsers: removedUser,
  removals: removal,
  accountEvents: accountEventsRow,
  upkeep: upkeepRecord,
  changes: changeRecord,
};

const rowChecks = Object.fromEntries(Object.entries(schemas).map(([name, { properties }]) => [name, checksOf(properties)]));

const sound = <R>(schema: TObject) => {
  const check = checkOf(schema);
  return (value: unknown): value is R => check(value) === undefined;
};

/** Returns whether a signing key in the row of all signing keys has the right form. */
export const isSigningKey = sound<StoredSigningKey>(storedSigningKey);

/** Returns whether a row is the remainder of a removed row, which is kept until its events are dispatched. */
export const isRemainder = sound<RemovedRow>(
  Type.Object({ id: stored.id, version: stored.version, removedAt: Type.Date(), ...outboxed, pendingEvents: Type.Array(pendingEvent) }),
);

export const isPendingEvent = sound<PendingEvent>(pendingEvent);

/** Returns whether the collection belongs to the service, not to an extension. */
export const hasRowChecks = (collection: string): boolean => Object.hasOwn(rowChecks, collection);

/** Returns a JSON Pointer to the first part of a row that is malformed. */
export const wrongPath = (collection: string, row: object): string | undefined =>
  firstWrongMember(rowChecks[collection] ?? {}, row as Readonly<Record<string, unknown>>);
