import { IdpError } from '../../errors.js';
import { leftOutIn, leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { EmailProof, Invitation, Person, User } from '../../store/records/records.js';
import type { DirectoryContext, ExportReader } from '../context.js';
import type { RecentSignIn, RecentSignIns } from './recent-sign-ins.js';

/** All stored data of a person, for that person to read. The export has no passwords, keys or invitation links. */
export interface PersonExport {
  readonly tenant: { readonly id: string; readonly name?: string };
  readonly subsidiary?: { readonly id: string; readonly name: string };
  /** The record, with `nationalId` in clear. */
  readonly person: Omit<Person, 'user' | 'nationalIdHash' | (typeof derived)[number] | 'pendingEvents' | 'outbox'>;
  readonly user?: Omit<User, 'userNameKey' | 'externalIdentityKeys'>;
  /** The requested address, until the user opens its mailed link. */
  readonly pendingEmail?: Pick<EmailProof, 'address' | 'expiresAt'>;
  readonly groups: readonly { readonly id: string; readonly name: string }[];
  readonly password?: { readonly changedAt: Date };
  readonly consents: readonly {
    readonly clientId: string;
    readonly scopes: readonly string[];
    readonly claims?: readonly string[];
    readonly at: Date;
  }[];
  readonly invitations: readonly Omit<Invitation, 'version'>[];
  /** Recent sign-ins, newest first. */
  readonly signIns: readonly RecentSignIn[];
  /** Data from outside the directory: `sessions`, `grants`, and the collections of extensions. */
  readonly others: Readonly<Record<string, readonly object[]>>;
  /** Records that the export leaves out, because they cannot be read. Absent if all records can be read. */
  readonly unreadable?: readonly { readonly collection: string; readonly id: string; readonly path: string }[];
}

/** A person, as a source of further data gets it. */
export interface ExportedPerson {
  readonly tid: string;
  readonly personId: string;
  readonly userId?: string;
}

export type ExportSource = (person: ExportedPerson, reader: ExportReader) => Promise<Readonly<Record<string, readonly object[]>>>;

/** Registers a source of further data about persons. */
export type OnPersonExport = (source: ExportSource) => void;

export interface PersonExports {
  readonly on: OnPersonExport;
  /** @throws IdpError `not_found`, `undecipherable`. */
  of(tid: string, personId: string, reader?: ExportReader): Promise<PersonExport>;
}

interface Parts extends Pick<DirectoryContext, 'collections' | 'nationalIds'> {
  readonly signInHistory: Pick<RecentSignIns, 'list'>;
  readonly emailProofs: { pending(userId: string): Promise<PersonExport['pendingEmail']> };
}

export function createPersonExports({ collections, nationalIds, signInHistory, emailProofs }: Parts): PersonExports {
  const sources: ExportSource[] = [];
  const { tenants, subsidiaries, persons, groups, credentials, consents, invitations } = collections;

  return {
    on: (source) => void sources.push(source),

    async of(tid, personId, reader = 'administrator') {
      const row = await persons.get(personId);
      if (row?.tid !== tid) throw new IdpError('not_found');
      const { user, nationalId } = row;
      const person = omitted(row, 'user', 'nationalId', 'nationalIdHash', ...derived, 'pendingEvents', 'outbox');
      const assigned = person.subsidiaryId === undefined ? undefined : await subsidiaries.get(person.subsidiaryId);
      const subsidiary = assigned?.tid === tid ? assigned : undefined;
      const ref = { tid, personId, ...(user && { userId: user.id }) };
      const ofUser = user && (await userParts(tid, user));
      const parts = await Promise.all(sources.map((source) => source(ref, reader)));
      const others = Object.assign({}, ...parts) as PersonExport['others'];
      const invited = await invitations.find({ byPerson: [tid, personId] });
      const unreadable = [
        ...(person.subsidiaryId === undefined ? [] : await unreadableAmong('subsidiaries', [person.subsidiaryId], tid)),
        ...(user ? await unreadableAmong('groups', user.groupIds, tid) : []),
        ...(user ? await unreadableAmong('credentials', [user.id]) : []),
        ...Object.entries({ consents: ofUser?.consents ?? [], signIns: ofUser?.signIns ?? [], invitations: invited, ...others }).flatMap(
          ([collection, rows]) => (leftOutIn(rows).unreadable ?? []).map((row) => ({ collection, ...row })),
        ),
      ];
      return {
        tenant: { id: tid, ...nameOf(await tenants.get(tid)) },
        ...(subsidiary && { subsidiary: { id: subsidiary.id, name: subsidiary.name } }),
        person: {
          ...person,
          ...(nationalId !== undefined && { nationalId: await nationalIds.forTenant(tid).open(personId, nationalId) }),
        },
        groups: [],
        consents: [],
        signIns: [],
        ...ofUser,
        invitations: invited.map((row) => omitted(row, 'version')),
        others,
        ...(unreadable.length > 0 && { unreadable }),
      };
    },
  };

  /** @param tid of the rows, in a collection whose rows have a tenant. A malformed reference may name a row of another tenant. */
  async function unreadableAmong(collection: 'subsidiaries' | 'groups' | 'credentials', ids: readonly string[], tid?: string) {
    const rows = await Promise.all(ids.map((id) => collections[collection].unreadable(id)));
    return rows.flatMap((row) => (row && (tid === undefined || row.tid === tid) ? [{ collection, id: row.id, path: row.path }] : []));
  }

  async function userParts(tid: string, user: User): Promise<Partial<PersonExport>> {
    const [ofGroups, credential, allowed, signIns, pendingEmail] = await Promise.all([
      Promise.all(user.groupIds.map((id) => groups.get(id))),
      credentials.get(user.id),
      consents.find({ byUser: [user.id] }),
      signInHistory.list({ tid, userId: user.id }),
      emailProofs.pending(user.id),
    ]);
    return {
      user: omitted(user, 'userNameKey', 'externalIdentityKeys'),
      groups: ofGroups.flatMap((group) => (group?.tid === tid ? [{ id: group.id, name: group.name }] : [])),
      consents: withLeftOut(
        allowed.map(({ clientId, scopes, claims, at }) => ({ clientId, scopes, ...(claims && { claims }), at })),
        leftOutOf(allowed),
      ),
      signIns,
      ...(pendingEmail && { pendingEmail }),
      ...(credential?.passwordHash !== undefined && { password: { changedAt: credential.updatedAt } }),
    };
  }
}

const derived = ['nameKey', 'emailKey', 'secondEmailKey', 'hasUser', 'isLinked', 'parentNameKey'] as const;

const omitted = <R extends object, Name extends keyof R>(record: R, ...names: readonly Name[]): Omit<R, Name> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name as Name))) as Omit<R, Name>;

const nameOf = (tenant: { readonly name: string } | undefined) => (tenant ? { name: tenant.name } : {});
