/** A model of proofs in browsers. The model finds out whether all proofs that a token requires were given. */
export interface Person {
  readonly userName: string;
  readonly password: string;
  readonly oid: string;
  readonly tid: string;
  /** Owner of the credential: the `sub` of the tokens. */
  readonly owner: string;
}

/** An authorization request that waits for its answer. */
export interface Asked {
  readonly client: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly at: number;
  readonly tenant?: string;
  readonly mfa: boolean;
  readonly prompt?: string;
  readonly maxAge?: number;
  readonly browser: number;
}

export interface IssuedToken {
  readonly sub: string;
  readonly tid: string;
  readonly amr: readonly string[];
  readonly auth_time: number;
}

interface Proof {
  readonly browser: number;
  readonly owner: string;
  readonly at: number;
}

const secondOf = (at: number): number => Math.floor(at / 1000);

export class RequirementsModel {
  readonly passwords: Proof[] = [];
  readonly factors: Proof[] = [];
  /** Consents, each as `oid client`. */
  readonly consents = new Set<string>();
  /** Tenants that require a second factor now. */
  readonly requiring = new Set<string>();
  /** Times at which owners got their first factor. */
  readonly enrolledAt = new Map<string, number>();

  constructor(
    readonly persons: readonly Person[],
    readonly consenting: ReadonlySet<string>,
  ) {}

  /** Returns the proofs that are missing for the token. */
  lacking(token: IssuedToken, asked: Asked): readonly string[] {
    const person = this.persons.find(({ owner, tid }) => owner === token.sub && tid === token.tid);
    if (!person) return [`nobody is ${token.sub} in ${token.tid}`];
    const { browser, client, tenant, mfa, prompt, maxAge } = asked;
    const of = (proofs: readonly Proof[]) => proofs.filter((proof) => proof.browser === browser && proof.owner === token.sub);
    const password = of(this.passwords).find(({ at }) => secondOf(at) === token.auth_time);
    const hasFactor = of(this.factors).some(({ at }) => secondOf(at) >= token.auth_time);
    const says = token.amr.includes('mfa');
    const isEnrolled = (this.enrolledAt.get(token.sub) ?? Number.POSITIVE_INFINITY) < token.auth_time * 1000;
    const wants = mfa || this.requiring.has(token.tid) || isEnrolled;
    return [
      password ? [] : ['no password was proven at auth_time'],
      says && !hasFactor ? ['amr has mfa, and no factor was proven'] : [],
      wants && !says ? ['a second factor is required, and amr has none'] : [],
      tenant !== undefined && tenant !== token.tid ? ['the request is for another tenant'] : [],
      this.consenting.has(client) && !this.consents.has(`${person.oid} ${client}`) ? ['the user did not consent'] : [],
      maxAge !== undefined && token.auth_time < secondOf(asked.at) - maxAge ? ['the sign-in is older than max_age'] : [],
      prompt === 'login' && token.auth_time < secondOf(asked.at) ? ['prompt=login, and the sign-in is from before'] : [],
    ].flat();
  }
}
