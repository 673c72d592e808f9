import type { Awaitable, ClaimLookups, ClaimNeed, ClaimRecords, ClaimSubject } from './contract.js';

/** The look-ups of one request: each is done once, and only for a person about whom there can be something to find. */
export class RememberedLookups implements ClaimLookups {
  readonly #subject: ClaimSubject;
  readonly #found: { [Need in ClaimNeed]?: Awaitable<ClaimRecords[Need]> } = {};

  constructor(subject: ClaimSubject) {
    this.#subject = subject;
  }

  readonly subsidiary = (): Awaitable<ClaimRecords['subsidiary']> => {
    const { person, lookups } = this.#subject;
    if (person.subsidiaryId !== undefined) this.#found.subsidiary ??= lookups.subsidiary();
    return this.#found.subsidiary;
  };

  readonly groups = (): Awaitable<ClaimRecords['groups']> => {
    const { user, lookups } = this.#subject;
    this.#found.groups ??= user.groupIds.length === 0 ? [] : lookups.groups();
    return this.#found.groups;
  };

  readonly linkedAccounts = async (): Promise<ClaimRecords['linkedAccounts']> => this.#family();

  /** What a look-up finds: a promise only if it is not at hand. */
  record(need: ClaimNeed): Awaitable<ClaimRecords[ClaimNeed]> {
    return need === 'linkedAccounts' ? this.#family() : this[need]();
  }

  #family(): Awaitable<ClaimRecords['linkedAccounts']> {
    const { person, tenant, user, lookups } = this.#subject;
    const isLinked = user.isParent || user.parentUserId !== undefined;
    // Claims are told about accounts that can sign in.
    this.#found.linkedAccounts ??= isLinked ? lookups.linkedAccounts() : [{ person, tenant, canSignIn: true }];
    return this.#found.linkedAccounts;
  }
}
