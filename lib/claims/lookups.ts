import type { Awaitable } from '../awaitable.js';
import type { ClaimLookups, ClaimNeed, ClaimRecords, ClaimSubject } from './contract.js';

/** Look-ups of one request. Each look-up runs once, and only if it can find something for the person. */
export class RememberedLookups {
  readonly #subject: ClaimSubject;
  readonly #found: { [Need in ClaimNeed]?: Awaitable<ClaimRecords[Need]> } = {};
  #byName: ClaimLookups | undefined;

  constructor(subject: ClaimSubject) {
    this.#subject = subject;
  }

  /** Returns the look-ups in the form that plugins call. The object is created on first use, because most sets declare their needs instead. */
  get byName(): ClaimLookups {
    this.#byName ??= {
      subsidiary: () => this.#subsidiary(),
      groups: () => this.#groups(),
      linkedAccounts: async () => this.#family(),
    };
    return this.#byName;
  }

  /** Returns the result of a look-up. Returns a promise only if the record is not in memory. */
  record(need: ClaimNeed): Awaitable<ClaimRecords[ClaimNeed]> {
    if (need === 'groups') return this.#groups();
    return need === 'subsidiary' ? this.#subsidiary() : this.#family();
  }

  #subsidiary(): Awaitable<ClaimRecords['subsidiary']> {
    const { person, lookups } = this.#subject;
    if (person.subsidiaryId !== undefined) this.#found.subsidiary ??= lookups.subsidiary();
    return this.#found.subsidiary;
  }

  #groups(): Awaitable<ClaimRecords['groups']> {
    const { user, lookups } = this.#subject;
    this.#found.groups ??= user.groupIds.length === 0 ? [] : lookups.groups();
    return this.#found.groups;
  }

  #family(): Awaitable<ClaimRecords['linkedAccounts']> {
    const { person, tenant, user, lookups } = this.#subject;
    const isLinked = user.isParent || user.parentUserId !== undefined;
    // Claims are only computed for accounts that can sign in.
    this.#found.linkedAccounts ??= isLinked ? lookups.linkedAccounts() : [{ person, tenant, canSignIn: true }];
    return this.#found.linkedAccounts;
  }
}
