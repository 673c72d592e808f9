/** Operations on invitations in the admin API. */
import {
  defineErrors,
  defineOperation,
  type InvitationView,
  type Operation,
  type OperationRequest,
  oneOf,
  type Person,
  pageOf,
  present,
  recordForms,
  strict,
  Type,
} from '../../lib/extension-door.js';

const instant = () => Type.String({ description: 'ISO 8601' });
const text = () => Type.String();
const statuses = () => oneOf(['pending', 'accepted', 'revoked', 'expired']);

const { id: _, ...asked } = recordForms.invitation.properties;

const Invitation = Type.Object(
  {
    id: text(),
    personId: text(),
    userId: text(),
    clientId: Type.Optional(Type.String()),
    link: Type.Boolean({ description: 'Whether the user is linked to a personal account.' }),
    locale: Type.Optional(Type.String()),
    send: Type.Boolean({ description: 'Whether the service e-mails the invitation link.' }),
    status: statuses(),
    createdAt: instant(),
    updatedAt: instant(),
    expiresAt: instant(),
    acceptedAt: Type.Optional(instant()),
  },
  strict,
);

const answerOf = (view: InvitationView) => ({
  id: view.id,
  personId: view.personId,
  userId: view.userId,
  ...present({ clientId: view.clientId }),
  link: view.link,
  ...present({ locale: view.locale }),
  send: view.send,
  status: view.status,
  createdAt: view.createdAt.toISOString(),
  updatedAt: view.updatedAt.toISOString(),
  expiresAt: view.expiresAt.toISOString(),
  ...(view.acceptedAt === undefined ? {} : { acceptedAt: view.acceptedAt.toISOString() }),
});

export const errors = defineErrors({
  invitee_privileged: {
    status: 403,
    description:
      'The user may do more in the admin API than the caller, or has such permissions and is to be linked. Ask an administrator who may do as much to invite the user without `link`.',
  },
});

/**
 * Checks the caller, because the bearer of the invitation link can sign in as the user. A user with privileges is never linked, because the parent account
 * could sign in too.
 */
async function checkPrivileges(
  { directory: { privileges }, administrator }: Request,
  person: Person | undefined,
  isLinked: boolean,
): Promise<void> {
  if (!person?.user) return;
  const invitee = { ...person, user: person.user };
  const isAllowed = isLinked ? (await privileges.of(invitee)).length === 0 : await privileges.mayBecome(administrator, invitee);
  if (!isAllowed) throw errors('invitee_privileged');
}

/** Checks the caller for an existing invitation. */
async function checkInvited(request: Request & { readonly params: { readonly tid: string; readonly id: string } }): Promise<void> {
  const { invitations, persons } = request.directory.forTenant(request.params.tid);
  const { personId, link } = await invitations.require(request.params.id);
  await checkPrivileges(request, await persons.get(personId), link);
}

const remove = ({ params: { tid, id }, directory }: Pick<OperationRequest<{ tid: string; id: string }>, 'params' | 'directory'>) =>
  directory.forTenant(tid).invitations.remove(id);

type Request = Pick<OperationRequest, 'directory' | 'administrator'>;

const path = '/tenants/{tid}/invitations';
const record = { collection: 'invitations', param: 'id' };
const read = 'idp.invitations:read';
const write = 'idp.invitations:write';

const invite = defineOperation({
  method: 'POST',
  path,
  scope: write,
  summary: 'Invites a user, and replaces a pending invitation of the user',
  body: Type.Object({ userId: text(), ...asked }, strict),
  answer: Invitation,
  status: 201,
  errors: [
    'user_not_invited',
    'email_required',
    'mail_not_configured',
    'personal_tenant_missing',
    'link_same_tenant',
    'link_not_allowed',
    'client_unknown',
    'invitee_privileged',
  ],
  async handle(request) {
    const { params, directory, newId, isRetry } = request;
    const { userId, ...input } = request.body;
    const { invitations, users } = directory.forTenant(params.tid);
    await checkPrivileges(request, await users.get(userId), input.link === true);
    const id = newId();
    const before = isRetry ? await invitations.get(id) : undefined;
    // An invitation that is not accepted is created again, because its row is written before the document of the person who is invited.
    return answerOf(before?.status === 'accepted' ? before : await invitations.create(userId, { ...input, id }));
  },
});

const list = defineOperation({
  method: 'GET',
  path,
  scope: read,
  summary: 'Lists invitations',
  query: recordForms.lists.invitations,
  answer: pageOf(Invitation),
  errors: ['invalid_cursor'],
  async handle({ params, query, directory }) {
    const { items, next, unreadable } = await directory.forTenant(params.tid).invitations.list(query);
    return {
      items: items.map(answerOf),
      ...present({ next }),
      ...(unreadable ? { unreadable: [...unreadable] } : {}),
    };
  },
});

const get = defineOperation({
  method: 'GET',
  path: `${path}/{id}`,
  scope: read,
  record,
  summary: 'Reads an invitation',
  answer: Invitation,
  handle: async ({ params, directory }) => answerOf(await directory.forTenant(params.tid).invitations.require(params.id)),
});

const getLink = defineOperation({
  method: 'GET',
  path: `${path}/{id}/link`,
  scope: write,
  summary: 'Returns the invitation link, which from then on does not verify an e-mail address',
  answer: Type.Object({ expiresAt: instant(), url: Type.String() }, strict),
  errors: ['invitation_over', 'invitee_privileged'],
  async handle(request) {
    const { params, directory } = request;
    await checkInvited(request);
    const { url, expiresAt } = await directory.forTenant(params.tid).invitations.link(params.id);
    return { url, expiresAt: expiresAt.toISOString() };
  },
});

const resend = defineOperation({
  method: 'POST',
  path: `${path}/{id}/resend`,
  scope: write,
  summary: 'E-mails a new invitation link with the full lifetime, and revokes earlier links',
  answer: Invitation,
  errors: ['invitation_over', 'email_required', 'mail_not_configured', 'invitee_privileged'],
  async handle(request) {
    const { params, directory } = request;
    await checkInvited(request);
    return answerOf(await directory.forTenant(params.tid).invitations.resend(params.id));
  },
});

const revoke = defineOperation({
  method: 'POST',
  path: `${path}/{id}/revoke`,
  scope: write,
  summary: 'Revokes an invitation',
  answer: Invitation,
  errors: ['invitation_over'],
  handle: async ({ params, directory }) => answerOf(await directory.forTenant(params.tid).invitations.revoke(params.id)),
});

const removal = defineOperation({
  method: 'DELETE',
  path: `${path}/{id}`,
  scope: write,
  record,
  summary: 'Revokes a pending invitation, and removes the record of the invitation',
  handle: remove,
  removeUnreadable: ({ params: { tid, id }, directory }) =>
    remove({ params: { tid, id }, directory: directory.overDamaged({ collection: record.collection, id, tid }) }),
});

export const invitationOperations = (): readonly Operation[] => [invite, list, get, getLink, resend, revoke, removal];
