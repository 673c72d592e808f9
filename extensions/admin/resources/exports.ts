/** The export of all data that the service keeps about a person, for that person to read. */
import { defineOperation, instant, type PersonWithUser, Type } from '../../../lib/extension-door.js';
import { personItem, personView } from './persons.js';
import { form } from './shape/forms.js';
import { userItem, userView } from './shape/user-forms.js';
import { SignIn, signInView } from './sign-ins.js';

const named = () => form({ id: Type.String(), name: Type.String() });
const Kept = Type.Array(Type.Record(Type.String(), Type.Unknown()));

const PersonExport = Type.Object(
  {
    tenant: form({ id: Type.String(), name: Type.Optional(Type.String()) }),
    subsidiary: Type.Optional(named()),
    person: personItem,
    user: Type.Optional(userItem),
    pendingEmail: Type.Optional(
      Type.Object(
        { address: Type.String(), expiresAt: instant() },
        { additionalProperties: false, description: 'The requested e-mail address, until the user opens the mailed link that proves it.' },
      ),
    ),
    groups: Type.Array(named()),
    password: Type.Optional(form({ changedAt: instant() })),
    consents: Type.Array(
      form({ clientId: Type.String(), scopes: Type.Array(Type.String()), claims: Type.Optional(Type.Array(Type.String())), at: instant() }),
    ),
    invitations: Kept,
    signIns: Type.Array(SignIn),
    others: Type.Record(Type.String(), Kept, {
      description: 'Sessions, grants and records of extensions, by the names of the collections.',
    }),
    unreadable: Type.Optional(
      Type.Array(form({ collection: Type.String(), id: Type.String(), path: Type.String() }), {
        description: 'Unreadable records, which are left out. `path` is a JSON Pointer to the malformed member.',
      }),
    ),
  },
  { $id: 'PersonExport', additionalProperties: false },
);

/** Returns a value as JSON has it, with instants as text. */
const asJson = <Value>(value: unknown): Value => JSON.parse(JSON.stringify(value)) as Value;

export const exports = [
  defineOperation({
    method: 'GET',
    path: '/tenants/{tid}/persons/{id}/export',
    scope: 'idp.exports:read',
    summary: 'Exports all data that the service holds about a person',
    answer: PersonExport,
    async handle({ params: { tid, id }, directory }) {
      const { persons } = directory.forTenant(tid);
      const person = await persons.require(id);
      const { tenant, subsidiary, pendingEmail, groups, password, consents, invitations, signIns, others, unreadable } =
        await persons.export(id);
      return asJson({
        tenant,
        subsidiary,
        person: personView(person),
        user: person.user && userView(person as PersonWithUser),
        pendingEmail,
        groups,
        password,
        consents,
        invitations,
        signIns: signIns.map(signInView),
        others,
        unreadable,
      });
    },
  }),
];
