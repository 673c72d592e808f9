/** Retries with the same `Idempotency-Key`: the request runs once, and each retry gets the same answer. @see draft-ietf-httpapi-idempotency-key-header */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 } from 'uuid';
import type {
  Administrator,
  ArtifactKind,
  Context,
  ExtensionArtifacts,
  ExtensionContext,
  OperationRequest,
  WriteOnce,
} from '../../lib/extension-door.js';
import { IdpError } from '../../lib/extension-door.js';
import { errors } from './errors.js';

const DAY_SECONDS = 86_400;
/**
 * Seconds of the lease that an attempt holds on its idempotency key. An attempt releases the lease when the attempt ends, so only the lease of a node that
 * died expires.
 */
const TURN_SECONDS = 30;
/** Milliseconds between two tries to release a lease. The first try often fails, because an unavailable store ended the attempt. */
const GIVE_BACK_MS = 250;
/** Milliseconds that a request waits for the answer to an earlier request with the same idempotency key, and between two reads of the store. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;
/** Maximum records that one request creates. */
const IDS = 4;

/** Claims of idempotency keys. A claim names the request of the idempotency key, and the attempt that holds the lease. */
const claims: ArtifactKind = { name: 'admin.claims', lifetimeSeconds: DAY_SECONDS };
/** Answers, by the request of their claim. After the claim has ended, no request finds its answer. */
const answers: ArtifactKind = { name: 'admin.answers', lifetimeSeconds: DAY_SECONDS };

export const kinds = [claims, answers] as const;

interface Claim {
  readonly fingerprint: string;
  /** Id of the request, in its answer and in the writes of all its attempts. The id is unique to the claim. */
  readonly request: string;
  readonly ids: readonly string[];
  /** Values that attempts made. */
  readonly remembered?: Readonly<Record<string, unknown>>;
  /** The attempt that holds the lease, and the end of the lease in milliseconds since the epoch. Absent after the last attempt failed. */
  readonly turn?: { readonly holder: string; readonly until: number };
}

/** Store key and request of a claim. After 24 hours, the store key may have another claim. */
interface ClaimRef extends Pick<Claim, 'request'> {
  readonly id: string;
}

/** A stored answer. A retry of a refused request is refused again. */
export interface Outcome {
  readonly status: number;
  readonly answer?: unknown;
  readonly location?: string | undefined;
  readonly refusal?: { readonly code: string; readonly details: Readonly<Record<string, unknown>>; readonly description: string };
}

export interface Attempt extends Pick<OperationRequest, 'newId' | 'remember' | 'isRetry'> {
  /** Mark for the writes of the attempt. Absent without an `Idempotency-Key`. */
  readonly once?: WriteOnce;
}

type Run = (attempt: Attempt) => Promise<Outcome>;

/** Runs a request once for each idempotency key. @param body the parsed body of the request */
export type Once = (ctx: Context, administrator: Administrator, body: unknown, run: Run) => Promise<Outcome>;

/** Claims in the store, each with the attempt that holds its lease. */
class Claims {
  readonly #claims: ExtensionArtifacts;
  readonly #answers: ExtensionArtifacts;
  readonly #now: () => number;

  constructor({ records: { artifact }, service: { now } }: Pick<ExtensionContext, 'records' | 'service'>) {
    this.#claims = artifact(claims);
    this.#answers = artifact(answers);
    this.#now = now;
  }

  /** Returns the lease of an attempt that begins now. */
  turnOf(holder: string): NonNullable<Claim['turn']> {
    return { holder, until: this.#now() + TURN_SECONDS * 1000 };
  }

  /** Claims the idempotency key. Returns the claim of this idempotency key: `given`, or the claim of an earlier request. */
  async claim(id: string, given: Claim): Promise<Claim | undefined> {
    return (await this.#claims.put(id, given)) ? given : ((await this.#claims.read(id)) as Claim | undefined);
  }

  async putAnswer(request: string, outcome: Outcome): Promise<void> {
    await this.#answers.put(request, outcome);
  }

  /** Returns the answer of an earlier attempt; undefined once `holder` has the lease. */
  async answerOrTurn(claimRef: ClaimRef, holder: string): Promise<Outcome | undefined> {
    for (;;) {
      const outcome = await this.#wait(claimRef);
      if (outcome) return outcome;
      // The previous attempt may have stored its answer after `#wait` had looked for it, and before its lease ended.
      if (await this.#takeTurn(claimRef, holder)) return this.#answerOf(claimRef.request);
    }
  }

  /** Releases the lease, unless another attempt holds it. Retries until the lease would expire, because the store may be unavailable. */
  async giveBack(claimRef: ClaimRef, holder: string): Promise<void> {
    const freed = ({ turn, ...claim }: Claim): Claim => claim;
    for (
      const until = performance.now() + TURN_SECONDS * 1000;
      performance.now() < until;
      await sleep(GIVE_BACK_MS, undefined, { ref: false })
    ) {
      try {
        await this.#change(claimRef, (claim) => (claim.turn?.holder === holder ? freed(claim) : claim));
        return;
      } catch {
        // The outage is in the log already.
      }
    }
  }

  /** Remembers a value in the claim before it is used. The first value counts, even if its attempt seemed to have failed. */
  rememberIn(claimRef: ClaimRef): OperationRequest['remember'] {
    return async (name, make) => {
      const remembered = (await this.#read(claimRef))?.remembered ?? {};
      if (name in remembered) return remembered[name] as never;
      const value = await make();
      const claim = await this.#change(claimRef, (one) => {
        const { remembered: before = {} } = one;
        return name in before ? one : { ...one, remembered: { ...before, [name]: value } };
      });
      if (!claim) throw errors('idempotency_conflict');
      return claim.remembered?.[name] as never;
    };
  }

  /** Returns the answer of the attempt that holds the lease, or undefined once the lease is free. */
  async #wait(claimRef: ClaimRef): Promise<Outcome | undefined> {
    for (const until = performance.now() + WAIT_MS; performance.now() < until; await sleep(LOOK_MS)) {
      const outcome = await this.#answerOf(claimRef.request);
      const claim = outcome ? undefined : await this.#read(claimRef);
      if (outcome || !claim || this.#isFree(claim)) return outcome;
    }
    throw errors('idempotency_in_progress', { retryAfterSeconds: TURN_SECONDS });
  }

  /** Acquires the lease. Returns false if another attempt was faster. */
  async #takeTurn(claimRef: ClaimRef, holder: string): Promise<boolean> {
    const claim = await this.#change(claimRef, (one) => (this.#isFree(one) ? { ...one, turn: this.turnOf(holder) } : one));
    // The 24 hours of the idempotency key have just ended.
    if (!claim) throw errors('idempotency_conflict');
    return claim.turn?.holder === holder;
  }

  #isFree({ turn }: Claim): boolean {
    return turn === undefined || turn.until <= this.#now();
  }

  async #answerOf(request: string): Promise<Outcome | undefined> {
    return (await this.#answers.read(request)) as Outcome | undefined;
  }

  /** Returns the claim of the request. Undefined after its 24 hours, even if another request has the idempotency key now. */
  async #read({ id, request }: ClaimRef): Promise<Claim | undefined> {
    const claim = (await this.#claims.read(id)) as Claim | undefined;
    return claim?.request === request ? claim : undefined;
  }

  async #change({ id, request }: ClaimRef, change: (claim: Claim) => Claim): Promise<Claim | undefined> {
    const changeOwn = (claim: Claim): Claim => (claim.request === request ? change(claim) : claim);
    const claim = (await this.#claims.update(id, (before) => before && changeOwn(before as Claim))) as Claim | undefined;
    return claim?.request === request ? claim : undefined;
  }
}

export function createOnce(context: Pick<ExtensionContext, 'records' | 'service'>): Once {
  const stored = new Claims(context);

  return async (ctx, { actor, client, account }, body, run) => {
    const key = ctx.get('Idempotency-Key');
    if (ctx.method !== 'POST' || key === '') return run({ newId: () => v7(), remember: async (_, make) => make(), isRetry: false });
    if (!/^[!-~]{1,255}$/.test(key))
      throw new IdpError('invalid_request', { errors: [{ header: 'Idempotency-Key', expected: '1 to 255 visible characters' }] });
    // A record that was removed and created again with the same id is a different actor.
    const { createdAt } = account?.person ?? client;
    const id = JSON.stringify([actor, createdAt, ctx.params.tid ?? '', key]);
    const fingerprint = createHash('sha256')
      .update(JSON.stringify([ctx.path, body]))
      .digest('base64url');
    // The holder is unique to this attempt, so that the attempt never releases the lease of another attempt.
    const holder = randomUUID();
    const request = v7();
    const given: Claim = { fingerprint, request, ids: Array.from({ length: IDS }, () => v7()), turn: stored.turnOf(holder) };
    let claimRef: ClaimRef = { id, request };
    try {
      const claim = await stored.claim(id, given);
      const isFirst = claim === given;
      if (claim?.fingerprint !== fingerprint) throw errors('idempotency_conflict');
      claimRef = { id, request: claim.request };
      const before = isFirst ? undefined : await stored.answerOrTurn(claimRef, holder);
      if (before) return replayed(ctx, before);
      const outcome = await runOnce(run, () => attemptOf(claim, !isFirst, stored.rememberIn(claimRef)));
      await stored.putAnswer(claim.request, outcome);
      return outcome;
    } catch (error) {
      // Runs after the answer to the client. A retry that arrives earlier waits for the lease.
      void stored.giveBack(claimRef, holder);
      throw error;
    }
  };
}

const attemptOf = ({ request, ids }: Claim, isRetry: boolean, remember: OperationRequest['remember']): Attempt => ({
  newId: (index = 0) => ids[index] ?? v7(),
  remember,
  isRetry,
  once: { id: request, isRetry },
});

/**
 * Runs a request. A retry that is refused runs again. The write of the previous attempt may have reached the store after the retry had looked for it, and
 * have caused the refusal.
 */
async function runOnce(run: Run, attempt: () => Attempt): Promise<Outcome> {
  const { isRetry } = attempt();
  const outcome = await run(attempt()).catch(refused);
  return isRetry && outcome.refusal ? run(attempt()).catch(refused) : outcome;
}

/** Returns the outcome of a refusal. @throws any other error, because the next attempt may have another answer */
function refused(error: unknown): Outcome {
  if (!(error instanceof IdpError) || error.status >= 500) throw error;
  return { status: error.status, refusal: { code: error.code, details: error.details, description: error.message } };
}

function replayed(ctx: Context, outcome: Outcome): Outcome {
  ctx.set('Idempotency-Replayed', 'true');
  return outcome;
}
