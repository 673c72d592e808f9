/** The recent sign-ins of a user, in operations and exports. */
import {
  defineOperation,
  instant,
  knownPart,
  leftOutIn,
  pageOf,
  type RecentSignIn,
  type Static,
  strict,
  Type,
} from '../../../lib/extension-door.js';

export const SignIn = Type.Object(
  {
    id: Type.String(),
    signedInAt: instant(),
    amr: Type.Array(Type.String(), { description: 'As in the claim `amr`. Empty for an impersonation.' }),
    idp: Type.Optional(Type.String({ description: '`local`, or the external identity provider. Absent for an impersonation.' })),
    method: Type.Optional(Type.String({ description: 'The sign-in method, if it is not the password and its name differs from `idp`.' })),
    clientId: Type.String({ description: 'Id of the application: a client, or a page or service provider of the service.' }),
    grantType: Type.Optional(Type.String({ description: 'The grant type, for a sign-in without a browser.' })),
    browser: Type.Optional(Type.String()),
    system: Type.Optional(Type.String()),
    address: Type.Optional(Type.String({ description: 'The part of the address that `sessions.address` allowed.' })),
    isNewBrowser: Type.Optional(Type.Literal(true, { description: 'The account did not know the browser.' })),
    isImpersonation: Type.Optional(Type.Literal(true)),
    impersonationId: Type.Optional(Type.String()),
  },
  { $id: 'SignIn', additionalProperties: false },
);

export const signInView = ({ signedInAt, ...signIn }: RecentSignIn): Static<typeof SignIn> =>
  knownPart(SignIn, { ...signIn, amr: [...signIn.amr], signedInAt: signedInAt.toISOString() }) as Static<typeof SignIn>;

export const signIns = defineOperation({
  method: 'GET',
  path: '/tenants/{tid}/users/{id}/sign-ins',
  scope: 'idp.sessions:read',
  summary: 'Lists the recent sign-ins of a user, newest first',
  answer: Type.Object({ items: Type.Array(SignIn), unreadable: pageOf(SignIn).properties.unreadable }, strict),
  async handle({ params, directory }) {
    const recent = await directory.signInHistory.list({ tid: params.tid, userId: params.id });
    return { items: recent.map(signInView), ...leftOutIn(recent) };
  },
});
