/** Requests that come again with the same `Idempotency-Key`: done once, answered the same. @see draft-ietf-httpapi-idempotency-key-header */
import { createHash } from 'node:crypto';
import { v7 } from 'uuid';
import type { Administrator, ArtifactKind, Context, ExtensionContext } from '../../lib/extension-door.js';
import { IdpError } from '../../lib/extension-door.js';
import { errors } from './errors.js';

const DAY_SECONDS = 86_400;
/** Seconds after which a request that was not answered counts as lost, and the next one with its key goes on in its place. */
const TURN_SECONDS = 30;
/** Milliseconds that a request waits for the answer of the one with the same key, and between two looks. */
const WAIT_MS = 5_000;
const LOOK_MS = 50;
/** Records that one request makes, at most. */
const IDS = 4;

/** What a key stands for. */
const claims: ArtifactKind = { name: 'admin.claims', lifetimeSeconds: DAY_SECONDS };
/** Who is answering the request of a key. */
const turns: ArtifactKind = { name: 'admin.turns', lifetimeSeconds: TURN_SECONDS };
const answers: ArtifactKind = { name: 'admin.answers', lifetimeSeconds: DAY_SECONDS };

export const kinds = [claims, turns, answers] as const;

interface Claim {
  readonly fingerprint: string;
  readonly ids: readonly string[];
}

/** An answer as it is kept: what was refused is refused again. */
export interface Outcome {
  readonly status: number;
  readonly answer?: unknown;
  readonly location?: string | undefined;
  readonly refusal?: { readonly code: string; readonly details: Readonly<Record<string, unknown>>; readonly description: string };
}

export interface Attempt {
  readonly newId: (index?: number) => string;
  readonly isRetry: boolean;
}

type Run = (attempt: Attempt) => Promise<Outcome>;

/** @param body of the request, as it was read. */
export type Once = (ctx: Context, administrator: Administrator, body: unknown, run: Run) => Promise<Outcome>;

export function createOnce({ artifact }: Pick<ExtensionContext, 'artifact'>): Once {
  const stored = { claims: artifact(claims), turns: artifact(turns), answers: artifact(answers) };

  /** The answer of whoever is at it, or undefined once nobody is. */
  async function wait(id: string): Promise<Outcome | undefined> {
    for (const until = Date.now() + WAIT_MS; Date.now() < until; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      const outcome = (await stored.answers.read(id)) as Outcome | undefined;
      if (outcome) return outcome;
      if ((await stored.turns.read(id)) === undefined) return undefined;
    }
    throw errors('idempotency_in_progress', { retryAfterSeconds: TURN_SECONDS });
  }

  return async (ctx, { actor }, body, run) => {
    const key = ctx.get('Idempotency-Key');
    if (ctx.method !== 'POST' || key === '') return run(withIds([], false));
    if (!/^[!-~]{1,255}$/.test(key))
      throw new IdpError('invalid_request', { errors: [{ header: 'Idempotency-Key', expected: '1 to 255 visible characters' }] });
    const id = JSON.stringify([actor, ctx.params.tid ?? '', key]);
    const fingerprint = createHash('sha256')
      .update(JSON.stringify([ctx.path, body]))
      .digest('base64url');
    const given: Claim = { fingerprint, ids: Array.from({ length: IDS }, () => v7()) };
    const isFirst = await stored.claims.put(id, given);
    const claim = isFirst ? given : ((await stored.claims.read(id)) as Claim | undefined);
    if (claim?.fingerprint !== fingerprint) throw errors('idempotency_conflict');
    while (!(await stored.turns.put(id, true))) {
      const outcome = await wait(id);
      if (outcome) return replayed(ctx, outcome);
    }
    const before = isFirst ? undefined : ((await stored.answers.read(id)) as Outcome | undefined);
    if (before) return replayed(ctx, before);
    const outcome = await run(withIds(claim.ids, !isFirst)).catch(refused);
    await stored.answers.put(id, outcome);
    return outcome;
  };
}

const withIds = (ids: readonly string[], isRetry: boolean): Attempt => ({ newId: (index = 0) => ids[index] ?? v7(), isRetry });

/** @throws what is no refusal: it may be another answer next time. */
function refused(error: unknown): Outcome {
  if (!(error instanceof IdpError) || error.status >= 500) throw error;
  return { status: error.status, refusal: { code: error.code, details: error.details, description: error.message } };
}

function replayed(ctx: Context, outcome: Outcome): Outcome {
  ctx.set('Idempotency-Replayed', 'true');
  return outcome;
}
