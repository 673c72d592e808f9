import Provider, { type KoaContextWithOIDC, type Session } from 'oidc-provider';
import { confirm } from 'oidc-provider/lib/actions/end_session.js';
import { nodeSeconds } from '../../times/node-time.js';
import { createSessionId, createSessionUid } from '../artifacts/ids.js';
import { sessionMembers } from '../artifacts/session-members.js';
import { type Class, membersOf, sessionPayload } from './base-model.js';

/**
 * Ends the session of an end-session request, as if the user had confirmed the sign-out. Depends on the last step of `confirm` in actions/end_session.js.
 */
export async function endSessionUnasked(ctx: KoaContextWithOIDC): Promise<void> {
  (ctx.oidc as { params: unknown }).params = { logout: 'yes' };
  await (confirm.at(-1) as (ctx: KoaContextWithOIDC) => Promise<void>)(ctx);
}

export interface SessionHooks {
  /** Returns the time by which sign-ins are dated, in milliseconds since the epoch. */
  now(): number;
  /** Returns whether the sign-in of a session has ended, although its record exists. */
  isOver(session: object): boolean | Promise<boolean>;
  /** Returns the session that replaces the ended session, under a new identifier, in a request to oidc-provider. */
  instead(ctx: KoaContextWithOIDC, session: object): Promise<object | undefined>;
}

/** Creates the class that stores sessions under their uid. The cookie also has a secret, which changes with every authentication. */
export function sessionClass(Base: Class, hooks: SessionHooks): Class {
  return class Session extends Base {
    constructor(payload?: { uid?: string; jti?: string }) {
      super(payload);
      if (!payload?.uid) this.uid = createSessionUid();
      if (!payload?.jti) this.jti = createSessionId(this.uid);
    }

    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), ...sessionMembers];
    }

    /**
     * Finds a session, or the session that replaces it. Only shared/session.js sets the cookie of the result. Outside requests to oidc-provider, a session
     * whose sign-in has ended is absent.
     */
    static override async find(value: string, ...rest: unknown[]): Promise<object | undefined> {
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const session: object | undefined = await super.find?.(value, ...rest);
      if (!session) return undefined;
      const over = hooks.isOver(session);
      if (!(over instanceof Promise ? await over : over)) return session;
      const ctx = Provider.ctx;
      return ctx && hooks.instead(ctx, session);
    }

    /**
     * Finds a session that suits the calling code, and whose sign-in goes on. Has no effect on other sessions, unlike {@link find}. An extension may decide
     * whether a sign-in goes on, and is asked only about a session that suits.
     */
    static async findLive(value: string, suits: (session: object) => boolean): Promise<object | undefined> {
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const session: object | undefined = await super.find?.(value);
      if (!session || !suits(session)) return undefined;
      const over = hooks.isOver(session);
      return !(over instanceof Promise ? await over : over)
        ? Object.assign(session, { save: (session as { saveDirectly: unknown }).saveDirectly })
        : undefined;
    }

    /** Saves the session like `save`, without the events that only listeners of a host read. */
    async saveDirectly(ttl: number): Promise<void> {
      this.exp = nodeSeconds() + ttl;
      await this.adapter.upsert(this.jti, sessionPayload(this, hooks.now), ttl);
    }

    /**
     * Returns whether the sign-in is older than `age` seconds. The base class would use the node's own clock. @see OpenID Connect Core §3.1.2.1, max_age
     */
    past(age: number | string): boolean {
      return !this.loginTs || Math.floor(hooks.now() / 1000) - (this.loginTs as number) > Number(age);
    }

    resetIdentifier(): void {
      this.jti = createSessionId(this.uid);
      this.touched = true;
    }
  };
}

/** Writes the session into the unit of work immediately. shared/session.js would write it after the response. */
export async function saveSession(given: Session | undefined, ttl: number): Promise<void> {
  const session = given as (Session & { new?: boolean; touched?: boolean; destroyed?: boolean }) | undefined;
  if (!session || session.destroyed || (session.new && !session.touched)) return;
  await session.save(ttl);
  // Saving removes the mark by which shared/session.js sets the cookie of a new session.
  session.touched = true;
  const { jti } = session;
  Object.defineProperty(session, 'save', { value: async () => jti });
}
