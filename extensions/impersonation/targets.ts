/**
 * Users whom an operator may impersonate in a sign-in:
 * - the user in the request
 * - the user in a posted form
 * - the users that a search finds
 */
import {
  type Account,
  type BrowserSignIn,
  type ExtensionContext,
  IdpError,
  type Interaction,
  type PersonWithUser,
  parseAcrValues,
  present,
  recordForms,
} from '../../lib/extension-door.js';
import type { Rules } from './rules.js';

/** An operator at this step of a sign-in. */
export interface Step {
  readonly interaction: Interaction;
  readonly signedIn: BrowserSignIn;
  /** The operator's accounts that may impersonate users, each in its tenant. */
  readonly operators: readonly Account[];
}

export const operatorIn = ({ operators }: Step, tid: string | undefined): Account | undefined =>
  operators.find(({ tenant }) => tenant.id === tid);

export interface FoundUsers {
  readonly users: readonly Account[];
  /** Cursor of the next page. */
  readonly next?: string;
}

/** Users on a page of a search. */
const PAGE = 10;
const filters = recordForms.lists.users.properties;
/** Maximum characters of a query: of the longest name, which is longer than a user name and an address. */
export const LONGEST_QUERY = filters.name.maxLength;
/** Returns whether users can have the text in the member. A list refuses a filter that is too long. */
const isPossible = (member: 'name' | 'userName' | 'email', text: string): boolean => text.length <= (filters[member].maxLength ?? 0);

export class Targets {
  readonly #directory: ExtensionContext['directory'];
  readonly #claims: ExtensionContext['claims'];
  readonly #rules: Rules;

  constructor({ directory, claims }: Pick<ExtensionContext, 'directory' | 'claims'>, rules: Rules) {
    this.#directory = directory;
    this.#claims = claims;
    this.#rules = rules;
  }

  /** Returns the account of a user id, if the operator may impersonate the user. */
  async find(step: Step, oid: string): Promise<Account | undefined> {
    const target = await this.#directory.accounts.findByOid(oid);
    const operator = target && operatorIn(step, target.tenant.id);
    if (!operator || target.unmetPolicy !== undefined || (await this.#lacksConsent(step, target))) return undefined;
    return (await this.#rules.obstacleTo(operator, target)) === undefined ? target : undefined;
  }

  /** Returns the user whom the request names by the id that the client knows. Undefined if no user or several users can be meant. */
  async named(step: Step): Promise<Account | undefined> {
    const { client, parameters } = step.interaction;
    const { impersonate } = parseAcrValues(parameters.acr_values);
    const id = typeof impersonate === 'string' ? await this.#claims.userIdOf(impersonate, client) : undefined;
    if (id === undefined) return undefined;
    const accounts = await this.#directory.accounts.named(id);
    const targets = await Promise.all(accounts.map(({ person }) => this.find(step, person.user.id)));
    const [only, ...others] = targets.flatMap((target) => target ?? []);
    return others.length === 0 ? only : undefined;
  }

  /**
   * Searches the operator's tenant by the indexes of lists.
   * @param query the start of a name, or a whole user name or e-mail address. If it is empty, the search returns all users by name
   * @param after cursor of a page. A cursor of another list leads to the first page
   */
  async search(operator: Account, query: string, after?: string): Promise<FoundUsers> {
    const { users } = this.#directory.forTenant(operator.tenant.id);
    const text = query.trim();
    if (!isPossible('name', text)) return { users: [] };
    const byName = (cursor: string | undefined) =>
      users.list({
        status: 'active',
        limit: PAGE,
        ...(text === '' ? { sort: 'name' } : { name: text }),
        ...present({ after: cursor }),
      });
    const nextPage = after === undefined ? undefined : await byName(after).catch(IdpError.unless('invalid_cursor'));
    const list = nextPage ?? (await byName(undefined));
    const exact =
      nextPage || text === ''
        ? []
        : await Promise.all([
            ...(isPossible('userName', text) ? [users.list({ status: 'active', userName: text })] : []),
            ...(isPossible('email', text) ? [users.list({ status: 'active', email: text, limit: PAGE })] : []),
          ]);
    const persons = new Map([...exact.flatMap(({ items }) => items), ...list.items].map((person) => [person.user.id, person]));
    const targets = await Promise.all([...persons.values()].map((person) => this.#allowed(operator, person)));
    return { users: targets.flatMap((account) => account ?? []), ...present({ next: list.next }) };
  }

  async #allowed(operator: Account, { user }: PersonWithUser): Promise<Account | undefined> {
    const target = await this.#directory.accounts.findByOid(user.id);
    return target && (await this.#rules.obstacleTo(operator, target)) === undefined ? target : undefined;
  }

  /** Returns whether the client requires a consent that the user has not given. An impersonator cannot give it for the user. */
  async #lacksConsent({ interaction: { client, parameters } }: Step, { person }: Account): Promise<boolean> {
    if (!client.requireConsent) return false;
    const consent = await this.#directory.consents.get(person.user.id, client.id);
    const scopes = (parameters.scope ?? '').split(' ').filter((scope) => scope !== '' && scope !== 'offline_access');
    return scopes.some((scope) => consent?.scopes.includes(scope) !== true);
  }
}
