/** Users whom an operator may impersonate in a sign-in: the user that the request names, and a user that a page posts. */
import { type Account, type BrowserSignIn, type ExtensionContext, type Interaction, parseAcrValues } from '../../lib/extension-door.js';
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

  /** Returns the user whom the request names by the id that the client knows. Undefined if nobody, or more than one user, can be meant. */
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

  /** Whether the client needs a consent that the user has not given. An impersonator cannot give it, because a consent is the user's own. */
  async #lacksConsent({ interaction: { client, parameters } }: Step, { person }: Account): Promise<boolean> {
    if (!client.requireConsent) return false;
    const consent = await this.#directory.consents.get(person.user.id, client.id);
    const scopes = (parameters.scope ?? '').split(' ').filter((scope) => scope !== '' && scope !== 'offline_access');
    return scopes.some((scope) => consent?.scopes.includes(scope) !== true);
  }
}
