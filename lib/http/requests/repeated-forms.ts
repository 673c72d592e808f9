/**
 * Forms that are sent twice, such as by a button that is pressed twice. The second submission gets the answer to the first submission.
 *
 * The token of a form identifies the form. The form and its content identify a submission. Other content in the same form is therefore another submission.
 * The first submission takes a turn in the store that all nodes share. For a minute, a second submission in the same browser waits for the first
 * submission, or gets its answer. An attempt that failed with 5xx gives its turn back, so that a retry is evaluated. If the store is unavailable then, the
 * turn is given back as soon as the store answers again. The content is stored only as a keyed hash. The answer is stored encrypted. Only the browser and
 * the sign-in of the first submission get the answer.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import { isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { CookieCheck } from './cookie-check.js';
import type { FormIds } from './csrf.js';
import { mayBeKept } from './kept-size.js';
import { requestIdOf } from './request-id.js';

/** Seconds in which a second submission gets the stored answer. */
export const ANSWER_KEPT_SECONDS = 60;
/** Seconds that a submission may take. After that time, its node counts as dead, and the form can be sent again. */
const TURN_SECONDS = 20;
/** Milliseconds that a second submission waits for the first submission. */
const WAIT_MS = 10_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [20, 250];
/** Maximum attempts to take the turn of a form in one update, so that many concurrent submissions do not slow each other down. */
const MOST_TRIES = 3;

/** A stored answer. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Lines of `Set-Cookie`. */
  readonly cookies: readonly string[];
  /** Body of the answer, deflated, in base64. */
  readonly body: string;
}

/** States of the browser's sign-in for which an answer is meant, as {@link SignInsOfForms.state} returns them. */
interface Owner {
  readonly before: string;
  /** The state after the form, if the form changed the state and is answered by a redirect. */
  readonly after?: string;
  /** The hash of the session cookie that the answer sets. */
  readonly session?: string;
}

/** The record of a form: a submission that is under way, its answer, or neither (`by` and `answer` absent). */
interface FormRecord {
  /** Keyed hash of the content. */
  readonly content: string;
  /** Id of the request that is under way. */
  readonly by?: string;
  readonly answer?: Answer;
  readonly owner?: Owner;
}

/** Sign-ins that forms belong to. */
export interface SignInsOfForms {
  /** Returns a name of the browser's sign-in and its state; the empty text without a usable sign-in. */
  readonly state: (ctx: Context) => Promise<string>;
  /**
   * Returns whether the form belongs to a sign-in that has ended since. The first answer then leads nowhere, and the page of the form shows how to
   * continue.
   */
  readonly isOver: (ctx: Context) => Promise<boolean>;
}

/** Returns the record in place of the stored record. */
type Change = (stored: unknown) => unknown;

export interface RepeatedFormsParts extends FormIds {
  /** Records of forms, encrypted, changed by compare-and-swap. */
  readonly records: {
    update(id: string, change: Change, options: { readonly lifetimeSeconds: number }): Promise<unknown>;
    /** Changes a record now, or after an unavailable store answers again. */
    end(id: string, change: Change, options: { readonly lifetimeSeconds: number; readonly pointlessAfterSeconds: number }): Promise<void>;
  };
  /** Returns a keyed hash. */
  readonly hash: (text: string) => string;
  readonly signIns: SignInsOfForms;
  /** The name of the session's cookie. */
  readonly sessionCookie: string;
  /** Answers forms of browsers that send no cookies. */
  readonly cookieCheck: Pick<CookieCheck, 'isFormWithout' | 'show'>;
  /** Shows that the first submission is still under way. */
  readonly showUnderWay: (ctx: Context) => void | Promise<void>;
  readonly logger: Logger;
}

/** Middleware that runs between the reading of a form and its evaluation. */
export type RepeatedForms = Middleware;

/** Member of `ctx.state` that the app sets. Each route that reads its form with `form` uses the middleware in this member. */
export interface FormState {
  repeatedForms?: RepeatedForms;
  /** Whether the browser sent this form with the same content within the last minute, and the answer was a redirect. */
  isSentAgain?: boolean;
  /** Whether a second submission is evaluated too, in place of getting the answer. */
  isEvaluatedAgain?: boolean;
}

export function createRepeatedForms(parts: RepeatedFormsParts): RepeatedForms {
  const { hash, formOf, signIns, cookieCheck, showUnderWay } = parts;
  return async function answerOnce(ctx, next) {
    const { csrf } = (ctx.request.body ?? {}) as { readonly csrf?: unknown };
    if (typeof csrf !== 'string') return next();
    // If the browser sends no cookies, every token is invalid. The page about cookies states the reason, in place of the form's own page about an invalid
    // token.
    if (cookieCheck.isFormWithout(ctx)) return cookieCheck.show(ctx);
    const form = formOf(ctx, csrf);
    if (form === undefined) return next();
    const { rawBody = '' } = ctx.request as { readonly rawBody?: string };
    const mine = { by: randomUUID(), content: hash(JSON.stringify([ctx.url, rawBody, ctx.get('origin'), ctx.get('sec-fetch-site')])) };
    const turn = await attempt(parts, ctx, async () => {
      const before = await signIns.state(ctx);
      return { before, record: await takeTurn(parts, ctx, form, mine, before) };
    });
    if (!turn) {
      // While the store is unavailable, steps that need no store still work, and each other step answers 503 itself.
      try {
        return await next();
      } finally {
        // The store may have executed the update that failed.
        writeEnd(parts, form, mine.by, { content: '' }).catch(() => undefined);
      }
    }
    const { before, record } = turn;
    if (record === undefined) {
      ctx.status = 503;
      return showUnderWay(ctx);
    }
    if (record.answer) {
      const leadsNowhere = isRedirect(record.answer.status) && (await signIns.isOver(ctx));
      return leadsNowhere ? next() : give(ctx, record.answer);
    }
    const already = ctx.response.headers as Answer['headers'];
    const giveBack = () => conclude(parts, ctx, form, mine.by, () => ({ content: '' }));
    try {
      await next();
    } catch (error) {
      await giveBack();
      throw error;
    }
    const isStored = ctx.status < 500 && !(ctx.state as FormState).isEvaluatedAgain;
    const answer = isStored ? answerOf(ctx, already) : undefined;
    if (!answer) return void (await giveBack());
    await conclude(parts, ctx, form, mine.by, async () => ({
      content: mine.content,
      answer,
      owner: await ownerOf(parts, ctx, answer, before),
    }));
  };
}

/** Runs a step that needs the store. Returns undefined if the step fails. The form is then evaluated without a record. */
async function attempt<T>({ logger }: RepeatedFormsParts, ctx: Context, run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (err) {
    logger[isToldAlready(err) ? 'debug' : 'warn']({ err, requestId: requestIdOf(ctx) }, 'the service could not record a form');
    return undefined;
  }
}

/**
 * Takes the turn for a submission, or waits for the answer of the same submission and returns the record of that submission. Undefined if the wait takes
 * too long.
 */
async function takeTurn(parts: RepeatedFormsParts, ctx: Context, id: string, mine: FormRecord & { readonly by: string }, now: string) {
  const end = performance.now() + WAIT_MS;
  const isFirst = (stored: FormRecord | undefined): boolean =>
    stored?.content !== mine.content || (stored.by === undefined && !isFor(parts, ctx, stored, now));
  let tries = 0;
  const state = ctx.state as FormState;
  const change = (stored: unknown): unknown => {
    tries += 1;
    const { content, answer } = (stored ?? {}) as Partial<FormRecord>;
    state.isSentAgain = content === mine.content && answer !== undefined && isRedirect(answer.status);
    return isFirst(stored as FormRecord | undefined) && tries <= MOST_TRIES ? mine : stored;
  };
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    tries = 0;
    const record = (await parts.records.update(id, change, { lifetimeSeconds: TURN_SECONDS })) as FormRecord | undefined;
    // Submissions with other content took the turn at each attempt. The submission of this request is evaluated without a turn.
    if (record === undefined || record.content !== mine.content) return mine;
    if (record.by === mine.by || record.answer) return record;
    if (performance.now() >= end) return undefined;
    await pause(wait);
  }
}

/** Replaces the record of a form, if this request still has the turn. */
const conclude = (
  parts: RepeatedFormsParts,
  ctx: Context,
  id: string,
  by: string,
  make: () => Promise<FormRecord> | FormRecord,
): Promise<unknown> =>
  attempt(parts, ctx, async () => {
    let record: FormRecord = { content: '' };
    try {
      record = await make();
    } finally {
      await writeEnd(parts, id, by, record);
    }
  });

const writeEnd = ({ records }: RepeatedFormsParts, id: string, by: string, record: FormRecord): Promise<void> =>
  records.end(id, (stored) => ((stored as FormRecord | undefined)?.by === by ? record : stored), {
    lifetimeSeconds: record.answer ? ANSWER_KEPT_SECONDS : 1,
    pointlessAfterSeconds: TURN_SECONDS,
  });

async function ownerOf(
  { hash, signIns, sessionCookie }: RepeatedFormsParts,
  ctx: Context,
  { status, cookies }: Answer,
  before: string,
): Promise<Owner> {
  const set = cookies.find((line) => line.startsWith(`${sessionCookie}=`));
  const after = before !== '' && isRedirect(status) ? await signIns.state(ctx) : before;
  const session = set === undefined ? undefined : hash(set.slice(sessionCookie.length + 1).split(';', 1)[0] ?? '');
  return { before, ...present({ after: after === before ? undefined : after, session }) };
}

/** Returns whether the sign-in of the browser is the sign-in before or after the answer. */
function isFor({ hash, sessionCookie }: RepeatedFormsParts, ctx: Context, { answer, owner }: FormRecord, now: string): boolean {
  if (!answer || !owner) return false;
  if (now === owner.before || now === owner.after) return true;
  // If nobody was signed in when the form was sent, a redirect contains nothing about a person.
  if (owner.before === '' && isRedirect(answer.status)) return true;
  return owner.session !== undefined && owner.session === hash(ctx.cookies.get(sessionCookie, { signed: false }) ?? '');
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

const SET_COOKIE = 'set-cookie';
const linesOf = (headers: Readonly<Record<string, unknown>>): readonly string[] => [headers[SET_COOKIE] ?? []].flat().map(String);

/**
 * Returns the answer in its stored form; undefined for an answer that is too long, or not text.
 * @param already headers that were set before the form was evaluated. These headers are not part of the answer.
 */
function answerOf({ status, body, response }: Context, already: Answer['headers']): Answer | undefined {
  const isNone = body === undefined || body === null;
  if (!isNone && typeof body !== 'string' && !isPlain(body as object)) return undefined;
  const text = isNone ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const own = Object.entries(response.headers as Answer['headers']).filter(
    ([name, value]) => name !== 'content-length' && name !== SET_COOKIE && value !== already[name],
  );
  const before = new Set(linesOf(already));
  const cookies = linesOf(response.headers).filter((line) => !before.has(line));
  const answer = { status, headers: Object.fromEntries(own), cookies, body: deflateRawSync(text).toString('base64') };
  return mayBeKept(answer, 'minute') ? answer : undefined;
}

const isPlain = (body: object): boolean => Object.getPrototypeOf(body) === Object.prototype || Array.isArray(body);

function give(ctx: Context, { status, headers, cookies, body }: Answer): void {
  ctx.status = status;
  const text = inflateRawSync(Buffer.from(body, 'base64')).toString();
  if (text !== '') ctx.body = text;
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value as string | string[]);
  if (cookies.length > 0) ctx.append('Set-Cookie', [...cookies]);
  ctx.status = status;
}
