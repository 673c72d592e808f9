/** Members that the service adds to oidc-provider's session. The same list stores, begins and ends the members. */
import type { LoginContext } from '../../claims/contract.js';
import type { Proof } from '../../directory/index.js';
import type { SessionGrant } from './session-merge.js';

/** Members of one sign-in, which end with the sign-in. */
interface SignInMembers {
  /** `sub` at the time of the sign-in. A later account link counts from the next sign-in on. */
  sub?: string;
  idp?: string;
  /** As in `SignIn`. Present only if a tenant's administrator vouched for the means when the sign-in began. */
  used?: string;
  /** Id of the user whose credential was used, if that user is not the account: the parent account, or the impersonator. */
  owner?: string;
  /** Id of the tenant of the provider that sent `mfa`. `mfa` is in `amr` only for accounts of this tenant. */
  mfaIn?: string;
  /** Id of the only tenant whose requests the sign-in answers. */
  heldTo?: string;
  /** Random, and different for each sign-in, because two sign-ins of one account may begin in the same second. */
  signIn?: string;
  /** The sign-in method, if it is not the password and its name differs from `idp`. */
  method?: string;
  /** Proof of the sign-in. Absent if a client's login hint token made the sign-in. */
  proof?: Proof;
  act?: LoginContext['act'];
  /** Name of the impersonation, for the extension that began it. */
  impersonation?: string;
  /** Name of the impersonation for which this session is set aside. */
  actsAs?: string;
  /** End of the sign-in, in seconds since the epoch. */
  endsAt?: number;
  /** `false`: no grant of the session has `offline_access`. */
  offline?: false;
  /** Code of the browser that signed in, by the table of `browser-names`. In an impersonation, the browser is the impersonator's. */
  browser?: string;
  /** Code of the operating system of {@link SignInMembers.browser}. */
  system?: string;
  /** Part of the browser's IP address that the option `sessions.address` allows. */
  address?: string;
  /** Set until the sign-in is in the history of its user. */
  unrecorded?: true;
  /** Times of proofs that were added to `amr` later, in seconds since the epoch. */
  provenAt?: Readonly<Record<string, number>>;
}

/** A request that a user made in the sign-in of the session, and that ends with the sign-in. */
export interface AskedHere {
  readonly mark: string;
  /** Whether the request outlives a sign-in with another account in this browser. */
  readonly survivesSwitch?: true;
}

/** The impersonator's session, which is set aside, and the browser in which it may continue. */
export interface Aside {
  readonly uid: string;
  readonly browser: string;
}

export interface SessionExtras extends SignInMembers {
  /** Stays after the sign-in, because it takes the sign-in's place. */
  aside?: Aside;
  grants?: readonly SessionGrant[];
  /** Requests of the sign-in, the newest last. A second sign-in of the same account keeps the requests. */
  asked?: readonly AskedHere[];
}

// A record, so that the compiler finds a member that is missing here.
const ofSignIn: Readonly<Record<keyof SignInMembers, true>> = {
  sub: true,
  idp: true,
  used: true,
  owner: true,
  mfaIn: true,
  heldTo: true,
  signIn: true,
  method: true,
  proof: true,
  act: true,
  impersonation: true,
  actsAs: true,
  endsAt: true,
  offline: true,
  browser: true,
  system: true,
  address: true,
  unrecorded: true,
  provenAt: true,
};

export const signInMembers = Object.keys(ofSignIn) as readonly (keyof SignInMembers)[];

export const sessionMembers: readonly (keyof SessionExtras)[] = [...signInMembers, 'aside', 'grants', 'asked'];
