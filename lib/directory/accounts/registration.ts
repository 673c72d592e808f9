import { Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { personMembers } from '../../store/records/persons.js';
import type { PersonWithUser, Tenant } from '../../store/records/records.js';
import { email, line, USER_NAME_LENGTH } from '../../text/schemas.js';
import type { SignInMeans } from '../context.js';
import { PASSWORD_MINIMUM, type PasswordRule } from '../credentials/password-rules.js';
import { newId } from '../identifiers.js';
import { problemsOf } from '../input.js';
import type { Persons } from '../persons/persons.js';
import { hasUser } from '../persons/user-record.js';
import type { Users } from '../persons/users.js';
import { PASSWORD, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import type { Credentials } from './credentials.js';

/** Data that users enter about themselves. */
export interface RegistrationInput {
  /** Names are optional. A blank name counts as missing. */
  readonly givenName?: string;
  readonly familyName?: string;
  /** E-mail address, which is also the user name. The address is not verified. */
  readonly email: string;
  readonly password: string;
}

/** A reason for which {@link Registration.register} would refuse the input. */
export interface RegistrationProblem {
  readonly field: keyof RegistrationInput;
  /** Another user of the tenant has the name. */
  readonly isTaken?: true;
  /** The rule that the password breaks. */
  readonly rule?: PasswordRule;
}

/** Data that users entered about themselves, until their address is proven. */
export interface PreparedRegistration extends Omit<RegistrationInput, 'password'> {
  readonly passwordHash: string;
}

/** Self-registration: accounts that users create for themselves, in a tenant that allows it. */
export interface Registration {
  /**
   * Returns the rules of self-registration. Undefined if the tenant does not allow self-registration.
   * @param through an invitation allows it, whatever value `signIn.selfRegistration` of the tenant has
   */
  rules(through?: 'invitation'): Promise<{ readonly passwordLength: number } | undefined>;
  /**
   * Returns all problems of the input, at most one for each field.
   * @param options `hidesTaken`: reports no name as taken.
   * @throws IdpError `busy` when the password could not be checked.
   */
  problems(input: RegistrationInput, options?: { readonly hidesTaken?: boolean }): Promise<readonly RegistrationProblem[]>;
  /**
   * Prepares a registration that waits for the proof of its address. Writes nothing. The result contains a hash of the password, so store
   * it encrypted.
   * @throws IdpError as {@link register}, except `user_name_taken`.
   */
  prepare(input: RegistrationInput, from?: readonly string[], through?: 'invitation'): Promise<PreparedRegistration>;
  /**
   * Creates the person, their user and its password after the address was proven.
   * @param chosen names and password from the bearer of the mailed link, for a browser that did not send the form. The chosen values replace the prepared
   * ones.
   * @param from as in {@link register}.
   * @throws IdpError as {@link register}.
   */
  complete(
    prepared: PreparedRegistration,
    chosen?: Omit<RegistrationInput, 'email'>,
    from?: readonly string[],
    through?: 'invitation',
  ): Promise<PersonWithUser>;
  /**
   * Creates the person, their user and its password.
   * @param from the address that sent the request, and the name in the request. Under load, requests with the same address or name wait for
   * each other.
   * @throws IdpError `not_found` if the tenant does not allow self-registration; `invalid_record`, whose details name the field;
   * `user_name_taken`, `busy`.
   */
  register(input: RegistrationInput, from?: readonly string[], through?: 'invitation'): Promise<PersonWithUser>;
}

const { givenName, familyName } = personMembers;
/** An address is the user name as well. */
const formOf = { givenName, familyName, email: Type.Intersect([email(), line(USER_NAME_LENGTH)]) };

interface Parts {
  readonly tenants: Tenants;
  readonly persons: Persons;
  readonly users: Users;
  readonly credentials: Credentials;
  readonly means: SignInMeans;
}

export function createRegistration({ tenants, persons, users, credentials, means }: Parts, tid: string): Registration {
  const open = async (through: 'invitation' | undefined): Promise<Tenant | undefined> => {
    const tenant = await tenants.get(tid);
    if (tenant?.status !== 'active' || (await unmetPolicy(tenant, means)) !== undefined) return undefined;
    if (!tenant.signIn?.selfRegistration && through === undefined) return undefined;
    // A new account has a password and no other means.
    return tenant.signIn?.methods?.includes(PASSWORD) === false ? undefined : tenant;
  };
  async function create({ passwordHash, ...names }: PreparedRegistration, emailVerified: boolean): Promise<PersonWithUser> {
    const user = { id: newId(), userName: names.email, status: 'active' as const, emailVerified };
    // A password without a user signs nobody in. A user without a password would block the name.
    await credentials.setFirstHash(user.id, passwordHash);
    try {
      const person = await persons.create({ ...names, user }, 'self');
      if (hasUser(person)) return person;
      throw new IdpError('not_found');
    } catch (error) {
      await credentials.forget(user.id).catch(() => undefined);
      throw error;
    }
  }

  async function prepare(input: RegistrationInput, from?: readonly string[], through?: 'invitation'): Promise<PreparedRegistration> {
    if (!(await open(through))) throw new IdpError('not_found');
    const { password, ...rest } = input;
    return { ...rest, passwordHash: await credentials.hashFor({ userName: input.email }, password, from) };
  }

  return {
    async rules(through) {
      const tenant = await open(through);
      return tenant && { passwordLength: PASSWORD_MINIMUM };
    },

    async problems(input, { hidesTaken = false } = {}) {
      const { email, password } = input;
      const fields = (['givenName', 'familyName', 'email'] as const).filter(
        (name) => problemsOf(formOf[name], input[name] ?? '').length > 0,
      );
      const problem = await credentials.problemOf({ userName: email }, password);
      const isTaken = !hidesTaken && !fields.includes('email') && (await users.findByUserName(email)) !== undefined;
      return [
        ...fields.map((field) => ({ field })),
        ...(isTaken ? [{ field: 'email', isTaken } as const] : []),
        ...(problem ? [{ field: 'password', rule: problem.rule } as const] : []),
      ];
    },

    prepare,

    async complete(prepared, chosen, from, through) {
      if (!(await open(through))) throw new IdpError('not_found');
      return create(chosen ? await prepare({ ...chosen, email: prepared.email }, from, through) : prepared, true);
    },

    register: async (input, from, through) => create(await prepare(input, from, through), false),
  };
}
