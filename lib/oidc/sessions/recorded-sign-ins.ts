/**
 * Sign-ins in the history of their user.
 *
 * A sign-in has a mark in its session until the sign-in is recorded. The first use records the sign-in: an authorization response, or a page of the
 * service. Until then, a requirement of the sign-in, such as a second factor, may be open. The mark costs a request of a recorded sign-in nothing. A
 * sign-in that could not be recorded keeps its mark, so the next use tries again. No use fails because a sign-in could not be recorded.
 */
import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { NewSignIn } from '../../directory/index.js';
import { isToldAlready } from '../../errors.js';
import { requestIdOf } from '../../http/requests/request-id.js';
import { present } from '../../present.js';
import type { ArtifactKey } from '../../store/artifact-store.js';
import type { OurSession, PinnedLogin } from '../accounts/login-context.js';
import { sessionNameOf } from '../accounts/login-context.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import type { OidcParts } from '../context.js';
import { changeSession, isSameSignIn } from './sessions.js';

/** A grant of an extension, which is a sign-in by itself. */
interface GrantedSignIn extends Pick<PinnedLogin, 'amr' | 'idp' | 'method' | 'act'> {
  readonly oid: string;
  readonly clientId: string;
  readonly grantType: string;
  /** Start of the grant, in seconds since the epoch. */
  readonly startedAt: number;
}

export interface SignInRecorder {
  /** Records the sign-in of a session that an authorization response uses. The response saves the session. Undefined if there is nothing to record. */
  ofResponse(ctx: KoaContextWithOIDC, session: OurSession | undefined, clientId: string): Promise<void> | undefined;
  /** Records the sign-in of a session that a page of the service uses. Undefined if there is nothing to record. */
  ofPage(ctx: Context, key: ArtifactKey, session: OurSession, clientId: string): Promise<void> | undefined;
  ofGrant(ctx: object, granted: GrantedSignIn): Promise<void>;
}

type Parts = Pick<OidcParts, 'artifacts' | 'browsers' | 'directory' | 'logger'>;

export function createSignInRecorder({ artifacts, browsers, directory: { signInHistory }, logger }: Parts): SignInRecorder {
  let isFailing = false;

  /** Returns whether the sign-in needs no further attempt. */
  async function attempt(userId: string, signIn: NewSignIn): Promise<boolean> {
    try {
      await signInHistory.record(userId, signIn);
      isFailing = false;
      return true;
    } catch (err) {
      if (!isFailing && !isToldAlready(err)) logger.error({ err, user: userId }, 'the service could not record a sign-in');
      isFailing = true;
      return false;
    }
  }

  return {
    ofResponse(ctx, session, clientId) {
      if (!session?.unrecorded || session.accountId === undefined) return undefined;
      if (!signInHistory.isOn) {
        delete session.unrecorded;
        return undefined;
      }
      const signIn = signInOf(ctx, session, clientId, browsers.begin(ctx));
      return attempt(session.accountId, signIn).then((isDone) => {
        if (isDone) delete session.unrecorded;
      });
    },

    ofPage(ctx, key, session, clientId) {
      if (!session.unrecorded || session.accountId === undefined || !signInHistory.isOn) return undefined;
      const signIn = signInOf(ctx, session, clientId, browsers.begin(ctx));
      return attempt(session.accountId, signIn).then(async (isDone) => {
        if (isDone)
          await changeSession(artifacts, key, (now) => (isSameSignIn(now, session) ? recorded(now) : undefined)).catch(() => undefined);
      });
    },

    async ofGrant(ctx, { oid, amr, idp, method, act, clientId, grantType, startedAt }) {
      await attempt(oid, {
        cause: JSON.stringify([grantType, clientId, startedAt]),
        at: new Date(startedAt * 1000),
        ...(act ? impersonationOf(undefined) : { amr: [...amr], idp, ...present({ method }) }),
        clientId,
        grantType,
        requestId: requestIdOf(ctx as never),
      });
    },
  };
}

function signInOf(ctx: object, session: OurSession, clientId: string, secretHash: string | undefined): NewSignIn {
  const { loginTs = 0, amr = [], idp = 'local', method, act, impersonation, browser, system, address } = session;
  const common = {
    cause: JSON.stringify([sessionNameOf(session), loginTs]),
    at: new Date(loginTs * 1000),
    clientId,
    requestId: requestIdOf(ctx as never),
  };
  // The browser and its address are those of the impersonator.
  if (act) return { ...common, ...impersonationOf(impersonation) };
  return { ...common, amr: [...amr], idp, ...present({ method, browser, system, address, secretHash }) };
}

/** @param name the extension's name, a colon, and the id of the impersonation */
const impersonationOf = (name: string | undefined): Pick<NewSignIn, 'amr' | 'isImpersonation' | 'impersonationId'> => ({
  amr: [],
  isImpersonation: true,
  ...present({ impersonationId: name?.slice(name.indexOf(':') + 1) }),
});

const recorded = ({ unrecorded: _, ...session }: SessionPayload): SessionPayload => session;
