import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { IdpError } from '../../errors.js';
import type { PersonWithUser, Tenant } from '../../store/records/records.js';
import type { SignInMeans } from '../context.js';
import { newId, USER_NAME_LENGTH } from '../identifiers.js';
import { email, line } from '../input.js';
import { type Persons, personProperties } from '../persons/persons.js';
import { hasUser } from '../persons/user-record.js';
import type { Users } from '../persons/users.js';
import { PASSWORD, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import { type Credentials, expectedPassword, PASSWORD_MINIMUM } from './credentials.js';

/** What people say of themselves. */
export interface RegistrationInput {
  readonly givenName: string;
  readonly familyName: string;
  /** The user name as well; not verified. */
  readonly email: string;
  readonly password: string;
}

/** What {@link Registration.register} would refuse. */
export interface RegistrationProblem {
  readonly field: keyof RegistrationInput;
  /** Somebody has that name in the tenant. */
  readonly isTaken?: true;
}

/** Accounts that people create for themselves, in a tenant that lets them. */
export interface Registration {
  /** Undefined where people may not. @param through an invitation lets people in, whatever `signIn.selfRegistration` of the tenant says. */
  rules(through?: 'invitation'): Promise<{ readonly passwordLength: number } | undefined>;
  /** All problems of the input, at most one for each field. */
  problems(input: RegistrationInput): Promise<readonly RegistrationProblem[]>;
  /**
   * The person, their user and its password.
   * @param from the address and the name behind the request; requests of one of them wait for each other when there is much to do.
   * @throws IdpError `not_found` where people may not; `invalid_record`, whose details name the field; `user_name_taken`, `busy`.
   */
  register(input: RegistrationInput, from?: readonly string[], through?: 'invitation'): Promise<PersonWithUser>;
}

const { givenName, familyName } = personProperties;
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
  return {
    async rules(through) {
      const tenant = await open(through);
      return tenant && { passwordLength: PASSWORD_MINIMUM };
    },

    async problems(input) {
      const { email, password } = input;
      const fields = (['givenName', 'familyName', 'email'] as const).filter((name) => !Value.Check(formOf[name], input[name]));
      const isTaken = !fields.includes('email') && (await users.findByUserName(email)) !== undefined;
      return [
        ...fields.map((field) => ({ field })),
        ...(isTaken ? [{ field: 'email', isTaken } as const] : []),
        ...(expectedPassword(email, password) === undefined ? [] : [{ field: 'password' } as const]),
      ];
    },

    async register({ givenName, familyName, email, password }, from, through) {
      const tenant = await open(through);
      if (!tenant) throw new IdpError('not_found');
      const user = { id: newId(), userName: email, status: 'active' as const };
      // A password without a user signs nobody in; a user without a password would keep the name taken.
      await credentials.setFirstPassword(user, password, from);
      try {
        const person = await persons.create({ givenName, familyName, email, user }, 'self');
        if (hasUser(person)) return person;
        throw new IdpError('not_found');
      } catch (error) {
        await credentials.forget(user.id).catch(() => undefined);
        throw error;
      }
    },
  };
}
