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

/** What people say of themselves. */
export interface RegistrationInput {
  /** Neither name is required. A blank name is none. */
  readonly givenName?: string;
  readonly familyName?: string;
  /** The user name as well; not verified. */
  readonly email: string;
  readonly password: string;
}

/** What {@link Registration.register} would refuse. */
export interface RegistrationProblem {
  readonly field: keyof RegistrationInput;
  /** Somebody has that name in the tenant. */
  readonly isTaken?: true;
  /** The rule that the password breaks. */
  readonly rule?: PasswordRule;
}

/** What people said of themselves, until their address is proven. */
export interface PreparedRegistration extends Omit<RegistrationInput, 'password'> {
  readonly passwordHash: string;
}

/** Accounts that people create for themselves, in a tenant that lets them. */
export interface Registration {
  /** Undefined where people may not. @param through an invitation lets people in, whatever `signIn.selfRegistration` of the tenant says. */
  rules(through?: 'invitation'): Promise<{ readonly passwordLength: number } | undefined>;
  /**
   * All problems of the input, at most one for each field.
   * @param options `hidesTaken`: says nothing of a name that is taken.
   * @throws IdpError `busy` when the password could not be judged.
   */
  problems(input: RegistrationInput, options?: { readonly hidesTaken?: boolean }): Promise<readonly RegistrationProblem[]>;
  /**
   * A registration that waits for the proof of its address: nothing is written. It holds a hash of the password, so it is kept encrypted.
   * @throws IdpError as {@link register}, but for `user_name_taken`.
   */
  prepare(input: RegistrationInput, from?: readonly string[], through?: 'invitation'): Promise<PreparedRegistration>;
  /**
   * The address is proven: the person, their user and its password.
   * @param chosen names and password from the bearer of the link, for a browser that did not send the form. They replace the prepared ones.
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
   * The person, their user and its password.
   * @param from the address and the name behind the request; requests of one of them wait for each other when there is much to do.
   * @throws IdpError `not_found` where people may not; `invalid_record`, whose details name the field; `user_name_taken`, `busy`.
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
    // A new account has a password and nothing else.
    return tenant.signIn?.methods?.includes(PASSWORD) === false ? undefined : tenant;
  };
  async function create({ passwordHash, ...names }: PreparedRegistration, emailVerified: boolean): Promise<PersonWithUser> {
    const user = { id: newId(), userName: names.email, status: 'active' as const, emailVerified };
    // A password without a user signs nobody in; a user without a password would keep the name taken.
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
