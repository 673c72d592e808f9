/** All changes that cut off the sign-ins of a user, each at its call of `withCutoff`. Tests run every reader against every change. */
import type { IdentityProvider } from 'tenant-idp';

/** A user who signs in by the user's own password, or by the password of the parent account. */
export interface CutSubject {
  readonly tid: string;
  readonly oid: string;
  readonly personId: string;
  readonly userName: string;
  /** The user whose password signs in. */
  readonly owner: { readonly tid: string; readonly oid: string; readonly userName: string };
  /** The tenant in which the user signs in, in `acr_values`. */
  readonly tenant: string;
}

export interface CutOff {
  /** The call of `withCutoff` that the change runs: file below `lib/directory`, function and user id. */
  readonly at: string;
  readonly of: 'own' | 'child';
  cut(idp: IdentityProvider, subject: CutSubject): Promise<unknown>;
}

const identityOf = ({ oid }: { readonly oid: string }) => ({ idp: 'elsewhere', subject: oid });

async function reset({ directory: { passwordResets } }: IdentityProvider, { owner }: CutSubject): Promise<void> {
  const due = await passwordResets.begin(owner.oid, { requestId: 'of a test' });
  const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) as string);
  if (!ref) throw new Error('no link');
  await passwordResets.accept(ref, 'a new password that is long');
}

async function changePassword({ directory: { accounts, ownPasswords } }: IdentityProvider, { owner }: CutSubject): Promise<void> {
  const account = await accounts.findByOid(owner.oid);
  if (!account || !(await ownPasswords.isCurrent(account, 'old'))) throw new Error('no password');
  const change = { password: 'a new password that is long', current: 'old', spared: 'another', vouchedBy: undefined, by: {} };
  if (!(await ownPasswords.change(account, change))) throw new Error('not changed');
}

const usersOf = (idp: IdentityProvider, { tid }: { readonly tid: string }) => idp.tenant(tid).users;

export const cutOffs: Readonly<Record<string, CutOff>> = {
  disabling: { at: 'persons/users disable userId', of: 'own', cut: (idp, user) => usersOf(idp, user).disable(user.oid) },
  'disabling the parent': {
    at: 'persons/users disable userId',
    of: 'child',
    cut: (idp, { owner }) => usersOf(idp, owner).disable(owner.oid),
  },
  'sign-out everywhere': {
    at: 'persons/users signOutEverywhere userId',
    of: 'own',
    cut: (idp, user) => usersOf(idp, user).signOutEverywhere(user.oid),
  },
  'sign-out everywhere of the parent': {
    at: 'persons/users signOutEverywhere userId',
    of: 'child',
    cut: (idp, { owner }) => usersOf(idp, owner).signOutEverywhere(owner.oid),
  },
  'sign-out of all sessions but another': {
    at: 'persons/users signOutOthers userId',
    of: 'own',
    cut: (idp, user) => usersOf(idp, user).signOutOthers(user.oid, { session: 'another', cause: 'of a test' }),
  },
  'removal of an identity': {
    at: 'persons/users removeIdentity userId',
    of: 'own',
    async cut(idp, user) {
      await usersOf(idp, user).addIdentity(user.oid, identityOf(user));
      await usersOf(idp, user).removeIdentity(user.oid, identityOf(user));
    },
  },
  'an update without an identity': {
    at: 'persons/users update userId',
    of: 'own',
    async cut(idp, user) {
      await usersOf(idp, user).addIdentity(user.oid, identityOf(user));
      await usersOf(idp, user).update(user.oid, { externalIdentities: [] });
    },
  },
  unlinking: {
    at: 'accounts/linking unlink childRef.userId',
    of: 'child',
    cut: (idp, { tid, oid, owner }) => idp.tenant(tid).linking.unlink(oid, owner.oid),
  },
  'a reset of the password': { at: 'accounts/password-changes change userId', of: 'own', cut: reset },
  'a reset of the password of the parent': { at: 'accounts/password-changes cutOff child.user.id', of: 'child', cut: reset },
  'a change of the password in another session': { at: 'accounts/password-changes change userId', of: 'own', cut: changePassword },
  'a change of the password of the parent': { at: 'accounts/password-changes change userId', of: 'child', cut: changePassword },
  'removal of the user': {
    at: 'removal/person-removal tryOnce person.user.id',
    of: 'own',
    cut: (idp, user) => usersOf(idp, user).remove(user.oid),
  },
  'erasure of the person': {
    at: 'removal/person-removal tryOnce person.user.id',
    of: 'own',
    cut: (idp, { tid, personId }) => idp.tenant(tid).persons.remove(personId),
  },
  'removal of the parent': {
    at: 'removal/person-removal tryOnce person.user.id',
    of: 'child',
    cut: (idp, { owner }) => usersOf(idp, owner).remove(owner.oid),
  },
};

let count = 0;

async function account(idp: IdentityProvider, tenant: string, userName: string) {
  const tid = (await idp.directory.tenants.find()).find(({ name }) => name === tenant)?.id ?? '';
  const { id: personId, user } = await idp.tenant(tid).persons.create({
    givenName: 'P',
    familyName: 'P',
    email: userName,
    user: { userName, emailVerified: true, status: 'active' },
  });
  const oid = user?.id ?? '';
  return { tid, oid, personId, userName };
}

/** Returns a user who signs in by the password `old`. */
export async function cutSubject(idp: IdentityProvider, of: CutOff['of']): Promise<CutSubject> {
  count += 1;
  const owner = await account(idp, 'Acme', `cut-${count}@acme.test`);
  await idp.directory.credentials.seedPassword(owner.oid, 'old');
  if (of === 'own') return { ...owner, owner, tenant: owner.tid };
  const child = await account(idp, 'Globex', `cut-${count}@globex.test`);
  await idp.tenant(child.tid).linking.link(child.oid, { tid: owner.tid, userId: owner.oid });
  return { ...child, owner, tenant: child.tid };
}
