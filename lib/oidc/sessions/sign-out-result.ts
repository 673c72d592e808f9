import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import type { EndedSignIn } from '../../contract/sign-in/logout-participant.js';
import { present } from '../../present.js';
import { hashedKey } from '../../store/artifact-key.js';
import { nodeTime } from '../../times/node-time.js';
import type { OidcParts } from '../context.js';
import type { AfterSignOut } from './logout-participants.js';

/** Result of a sign-out, for its page. */
export interface SignOutResult {
  readonly clientId?: string;
  /** Id of the logout tokens that are being sent. */
  readonly batch: string;
  /** Frames of clients and of participants. */
  readonly frames: readonly ({ readonly uri: string } & ({ readonly clientId: string } | { readonly name: string }))[];
  /** Ended sign-ins, so that extensions can name the participants that did not answer. */
  readonly ended: readonly EndedSignIn[];
  /** URL at which the browser continues after the page. */
  readonly next?: string;
}

/** Milliseconds for which the page can be loaded, and for which it waits for applications. */
const KEPT_MS = 300_000;
const WAIT_MS = 1_000;

/** Creates the store of results, under names that cannot be guessed, and their page. Only the browser that signed out gets the page. */
export function createSignOutResults(
  { artifacts, browsers, directory, showPage }: OidcParts,
  afterwards: Pick<AfterSignOut, 'unanswered'>,
) {
  const keyOf = (id: string) => hashedKey('SignOutResult', id);

  async function load(ctx: Context, id: unknown): Promise<SignOutResult | undefined> {
    if (typeof id !== 'string') return undefined;
    const key = keyOf(id);
    const artifact = (await artifacts.read([{ key }])).get(key);
    const result = artifact && (JSON.parse(artifact.value) as SignOutResult & { readonly browser: string });
    return result && browsers.isBoundHere(ctx, result) ? result : undefined;
  }

  /** Returns the names of clients and participants that have not accepted their notice yet, after a moment. */
  async function unanswered(batch: string): Promise<readonly string[]> {
    const end = nodeTime() + WAIT_MS;
    for (;;) {
      const pending = await directory.deliveries.pending(batch);
      if (pending.length === 0 || nodeTime() >= end) {
        const names = await Promise.all(
          pending.map(({ data }) => (data.clientId === undefined ? String(data.name) : nameOf(String(data.clientId)))),
        );
        return [...new Set(names)];
      }
      await sleep(50);
    }
  }

  const nameOf = async (clientId: string): Promise<string> => (await directory.clients.get(clientId))?.name ?? clientId;

  return {
    /** Stores a result. @returns the query of the page. */
    async keep(ctx: Context, result: SignOutResult): Promise<string> {
      const id = randomBytes(16).toString('base64url');
      const value = JSON.stringify({ ...result, browser: browsers.begin(ctx) });
      await artifacts.commit([{ op: 'put', key: keyOf(id), value, expiresAt: nodeTime() + KEPT_MS }]);
      return `?result=${id}`;
    },

    /** Shows the page of the query, or redirects to its next URL. Returns false if the query names no result of this browser. */
    async show(ctx: Context): Promise<boolean> {
      const { result: id, next: onward } = ctx.query;
      const result = await load(ctx, id);
      if (!result) return false;
      if (onward !== undefined && result.next !== undefined) {
        ctx.status = 303;
        ctx.redirect(result.next);
        return true;
      }
      const next =
        result.next === undefined ? undefined : `${ctx.href.split('?', 1)[0]}?${new URLSearchParams({ result: String(id), next: '' })}`;
      const client = result.clientId === undefined ? undefined : await directory.clients.get(result.clientId);
      const frames = await Promise.all(
        result.frames.map(async (frame) => ({ uri: frame.uri, name: 'name' in frame ? frame.name : await nameOf(frame.clientId) })),
      );
      const ofExtensions = next === undefined ? await afterwards.unanswered(result.ended) : [];
      const silent = next === undefined ? [...new Set([...(await unanswered(result.batch)), ...ofExtensions])] : [];
      await showPage(ctx, {
        page: 'signed-out',
        frames,
        unanswered: silent,
        ...present({ next }),
        ...(client ? { client } : {}),
      });
      return true;
    },
  };
}
