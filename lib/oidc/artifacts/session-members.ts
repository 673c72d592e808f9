/** What we keep on oidc-provider's session beside its own members: one list, by which they are stored, begun and ended. */
import type { LoginContext } from '../../claims/contract.js';
import type { Proof } from '../../directory/index.js';
import type { SessionGrant } from './session-merge.js';

/** What is of one sign-in, and ends with it. */
interface SignInMembers {
  /** As at the sign-in: a link made meanwhile counts from the next one. */
  sub?: string;
  idp?: string;
  /** As in `SignIn`. Present only if a tenant's administrator vouched for the means when the sign-in began. */
  used?: string;
  /** The user whose credential the session rests on, if that is not the account: the parent, or the impersonator. */
  owner?: string;
  /** Id of the tenant of the provider that sent `mfa`. `mfa` is in `amr` only for accounts of this tenant. */
  mfaIn?: string;
  /** Id of the only tenant whose requests the sign-in answers. */
  heldTo?: string;
  /** Random, and another one for each sign-in: two of one account may begin in one second. */
  signIn?: string;
  /** Where it is neither the password nor called as its `idp`. */
  method?: string;
  /** As at the sign-in. Absent for a sign-in that a client's login hint token made. */
  proof?: Proof;
  act?: LoginContext['act'];
  /** Names the impersonation, for the extension that began it. */
  impersonation?: string;
  /** The impersonation that this session is set aside for. */
  actsAs?: string;
  /** When the sign-in ends, in seconds since the epoch. */
  endsAt?: number;
  /** No grant of it has `offline_access`. */
  offline?: false;
  /** When members of `amr` were proven that joined the sign-in later, in seconds since the epoch. */
  provenAt?: Readonly<Record<string, number>>;
}

/** The session of who acts as somebody else, and the browser that it may come back in. */
export interface Aside {
  readonly uid: string;
  readonly browser: string;
}

export interface SessionExtras extends SignInMembers {
  /** Outlasts the sign-in, whose place it takes. */
  aside?: Aside;
  grants?: readonly SessionGrant[];
}

// A record, because the compiler then misses a member that is not here.
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
  provenAt: true,
};

export const signInMembers = Object.keys(ofSignIn) as readonly (keyof SignInMembers)[];

export const sessionMembers: readonly (keyof SessionExtras)[] = [...signInMembers, 'aside', 'grants'];
