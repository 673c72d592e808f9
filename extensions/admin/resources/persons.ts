import {
  type Directory,
  IdpError,
  instant,
  type Person,
  type PersonWithUser,
  recordForms,
  type Static,
  Type,
} from '../../../lib/extension-door.js';
import { checkEmailVerified, checkMayBecome, checkPhoneVerified, checkUserId, mayEndLink } from '../privileges.js';
import { crud, type Request } from './shape/crud.js';
import { form, itemOf, viewOf, without } from './shape/forms.js';
import type { Fields } from './shape/merge-patch.js';
import { checkGroupsOfNewUser, newUserForm, userItem, userView } from './shape/user-forms.js';

/** Maximum bytes of `attributes` as JSON. */
const MOST_ATTRIBUTES = 16_384;

const { nationalId: _, ...readable } = recordForms.members.person;
const hasNationalId = Type.Boolean({ description: 'Whether the person has a national id. The API never returns the national id.' });
/** The invitation that came with the person. */
const Invitation = form({ id: Type.String(), status: Type.String(), expiresAt: instant() });
const item = itemOf('Person', form({ id: Type.String(), ...readable }), [], {
  hasNationalId,
  user: Type.Optional(userItem),
  invitation: Type.Optional(Invitation),
});
/** A person without the user and the invitation. */
export const personItem = without(item, 'user', 'invitation');
const shown = viewOf<Person>(without(personItem, 'hasNationalId'));

/** A person, and the invitation that was made in the same call. */
interface Row extends Person {
  readonly invitation?: { readonly id: string; readonly status: string; readonly expiresAt: Date } | undefined;
}

export const personView = (person: Person): Fields => ({ ...shown(person), hasNationalId: person.nationalIdHash !== undefined });

const view = ({ invitation, ...person }: Row): Fields => ({
  ...personView(person),
  ...(invitation && { invitation: viewOf<typeof invitation>(Invitation)(invitation) }),
  ...(person.user && { user: userView(person as PersonWithUser) }),
});

function checkAttributes({ attributes }: Fields): void {
  if (attributes && Buffer.byteLength(JSON.stringify(attributes)) > MOST_ATTRIBUTES)
    throw new IdpError('invalid_record', { path: '/attributes', expected: `at most ${MOST_ATTRIBUTES} bytes of JSON` });
}

/** Judges a write. A change of the address is judged like a sign-in as the person, because links that sign in are mailed to the address. */
async function guard(request: Request, person: Person | undefined, members: Fields): Promise<void> {
  checkAttributes(members);
  checkPhoneVerified(request, members, person);
  if (person?.user && 'email' in members && (members.email ?? undefined) !== person.email)
    await checkMayBecome(request, { ...person, user: person.user });
  if (!members.user || person) return;
  checkUserId(request, members.user as Fields, '/user/id');
  checkEmailVerified(request, members.user as Fields);
  await checkGroupsOfNewUser(request, (members.user as Fields).groups as never);
}

/** Places of ids among the ids that the request makes. The person's id is the first. */
const USER_ID = 1;
const INVITATION_ID = 2;

function service(request: Request) {
  const { directory, params, newId, isRetry } = request;
  const { persons: all, invitations } = directory.forTenant(params.tid as string);
  return {
    ...all,
    remove: (id: string) => all.remove(id, mayEndLink(request)),
    async get(id: string): Promise<Row | undefined> {
      const person = await all.get(id);
      const invitation = isRetry && person ? await invitations.get(newId(INVITATION_ID)) : undefined;
      return person && { ...person, ...(invitation && { invitation }) };
    },
    async create({ invitation: asked, user, ...given }: PersonInput & { readonly invitation?: InvitationInput }): Promise<Row> {
      const person = { ...given, ...(user && { user: { ...user, id: user.id ?? newId(USER_ID) } }) };
      if (!asked) return all.create(person);
      const { person: made, invitation } = await invitations.createPerson(person, { ...asked, id: newId(INVITATION_ID) });
      return { ...made, invitation };
    },
  };
}

type PersonInput = Parameters<ReturnType<Directory['forTenant']>['persons']['create']>[0];
type InvitationInput = Static<typeof recordForms.invitation>;

export const persons = crud<Row>({
  name: 'persons',
  noun: 'a person',
  path: '/tenants/{tid}/persons',
  item,
  view,
  query: recordForms.lists.persons,
  form: form({
    id: Type.Optional(Type.String()),
    ...recordForms.person,
    user: Type.Optional(newUserForm),
    invitation: Type.Optional(without(recordForms.invitation, 'id')),
  }),
  changeable: form(recordForms.members.person),
  errors: [
    ...[
      'user_name_taken',
      'group_unknown',
      'group_refs_mixed',
      'grant_exceeds_own',
      'all_tenants_required',
      'email_unproven',
      'phone_unproven',
    ],
    ...['user_required', 'email_required', 'mail_not_configured', 'personal_tenant_missing', 'client_unknown'],
    ...['link_same_tenant', 'link_not_allowed'],
  ],
  isRemovable: true,
  removeErrors: ['grant_exceeds_own'],
  service,
  guard,
});
