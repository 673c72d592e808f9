import type { Awaitable } from '../awaitable.js';
import type { ClaimLookups, ClaimNeed, ClaimRecords, ClaimSubject } from './contract.js';

/** The look-ups of one request: each is done once, and only for a person about whom there can be something to find. */
export class RememberedLookups {
  readonly #subject: ClaimSubject;
  readonly #found: { [Need in ClaimNeed]?: Awaitable<ClaimRecords[Need]> } = {};
  #byName: ClaimLookups | undefined;

  constructor(subject: ClaimSubject) {
    this.#subject = subject;
  }

  /** The look-ups as plugins call them, made when the first does: most sets declare what they need. */
  get byName(): ClaimLookups {
    this.#byName ??= {
      subsidiary: () => this.#subsidiary(),
      groups: () => this.#groups(),
      linkedAccounts: async () => this.#family(),
    };
    return this.#byName;
  }

  /** What a look-up finds: a promise only if it is not at hand. */
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
    // Claims are told about accounts that can sign in.
    this.#found.linkedAccounts ??= isLinked ? lookups.linkedAccounts() : [{ person, tenant, canSignIn: true }];
    return this.#found.linkedAccounts;
  }
}
