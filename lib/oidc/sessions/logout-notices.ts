import { randomUUID } from 'node:crypto';
import type Provider from 'oidc-provider';
import type { Client } from 'oidc-provider';
import type { ImpersonationEnding } from '../../contract/sign-in/impersonation-rule.js';
import type { EndedSignIn } from '../../contract/sign-in/logout-participant.js';
import type { Enqueued, NewDelivery } from '../../directory/index.js';
import type { ArtifactKey } from '../../store/artifact-store.js';
import type { Delivery } from '../../store/records/records.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import { clientOf } from '../clients/clients.js';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { logoutToken } from '../upstream/id-token.js';
import { endedSignIn, participantDeliveries } from './logout-participants.js';

const KIND = 'backchannel-logout';

/** Content of a logout token, before `sub` is made pairwise. */
interface Notice {
  readonly clientId: string;
  readonly sid: string;
  /** `sub` of the grant. */
  readonly sub: string;
}

/** Milliseconds in which a client has to answer, and maximum bytes of its answer. */
const TIMEOUT_MS = 2_500;
const MAX_BYTES = 16_384;

type NoticeParts = Pick<OidcParts, 'impersonationRules' | 'directory' | 'participants' | 'logger'>;

/** Notices to clients and participants about the end of sign-ins. */
export class LogoutNotices {
  /** Id of the notices that are sent together. */
  readonly batch = randomUUID();
  /** Notices to clients, each notice once. */
  readonly #told = new Map<string, Notice>();
  readonly #enqueued: Enqueued[] = [];
  readonly #parts: NoticeParts;
  readonly #directory: OidcParts['directory'];
  /** Sign-ins for which participants were asked, each sign-in once. */
  readonly #ended = new Map<string, EndedSignIn>();

  readonly #asked: ImpersonationEnding;

  /** @param asked the end of an impersonation, if the impersonator asked for the end */
  constructor(parts: NoticeParts, asked: ImpersonationEnding = { isAsked: false }) {
    this.#parts = parts;
    this.#directory = parts.directory;
    this.#asked = asked;
  }

  /**
   * Enqueues the notices to clients of a session, before the change. A notice that is sent twice does no harm, but a missing notice does.
   * @param key of the session, if its sign-in ends.
   */
  async enqueue(session: SessionPayload, key?: ArtifactKey): Promise<void> {
    // Records the end of an impersonation before it ends, for the impersonated session as well as for the session that was set aside.
    for (const name of key ? [session.impersonation, session.actsAs] : [])
      if (typeof name === 'string') await this.#parts.impersonationRules.ending(name, this.#asked);
    const fresh = noticesOf(session).filter((notice) => !this.#told.has(JSON.stringify(notice)));
    const deliveries: NewDelivery[] = [];
    for (const notice of fresh) {
      this.#told.set(JSON.stringify(notice), notice);
      const client = await this.#directory.clients.get(notice.clientId);
      if (typeof client?.metadata.backchannel_logout_uri === 'string')
        deliveries.push({ kind: KIND, batch: this.batch, data: { ...notice } });
    }
    const ended = key && endedSignIn(session, key);
    if (ended && !this.#ended.has(JSON.stringify(ended))) {
      const told = await participantDeliveries(this.#parts, ended);
      deliveries.push(...told.map((delivery) => ({ ...delivery, batch: this.batch })));
      this.#ended.set(JSON.stringify(ended), ended);
    }
    if (deliveries.length > 0) this.#enqueued.push(await this.#directory.deliveries.enqueue(deliveries));
  }

  /** Whether any client is notified over the back channel. */
  get isSending(): boolean {
    return this.#enqueued.length > 0;
  }

  /** Releases the notices after the change is committed. */
  release(): void {
    for (const { release } of this.#enqueued) release();
  }

  /** Returns the URLs that the browser has to call. @see OpenID Connect Front-Channel Logout 1.0 §2 */
  async frames(issuer: string): Promise<readonly { readonly clientId: string; readonly uri: string }[]> {
    const frames = [...this.#told.values()].map(async ({ clientId, sid }) => {
      const { frontchannel_logout_uri: uri } = (await this.#directory.clients.get(clientId))?.metadata ?? {};
      if (typeof uri !== 'string' || !canParseUrl(uri)) return [];
      const url = new URL(uri);
      url.searchParams.set('iss', issuer);
      url.searchParams.set('sid', sid);
      return [{ clientId, uri: url.href }];
    });
    return (await Promise.all(frames)).flat();
  }
}

/** Returns one notice for each client and each of its sign-ins. */
function noticesOf({ grants = [], authorizations = {}, accountId, sub }: SessionPayload): Notice[] {
  const ofGrants = grants.map((grant) => ({ clientId: grant.clientId, sid: grant.sid, sub: grant.sub ?? grant.accountId }));
  const withGrant = new Set(grants.map(({ clientId }) => clientId));
  const others = Object.entries(authorizations).flatMap(([clientId, { sid }]) =>
    sid && accountId && !withGrant.has(clientId) ? [{ clientId, sid, sub: typeof sub === 'string' ? sub : accountId }] : [],
  );
  const notices = [...ofGrants, ...others].map((notice) => [JSON.stringify(notice), notice] as const);
  return [...new Map(notices).values()];
}

/**
 * Sends logout tokens. Each attempt makes a new token, because a logout token is valid for two minutes. @see OpenID Connect Back-Channel Logout 1.0 §2.5
 */
export function sendLogoutTokens(parts: OidcParts, current: () => Provider): void {
  parts.directory.deliveries.handle(KIND, async ({ data }: Delivery) => {
    const { clientId, sid, sub } = data as unknown as Notice;
    const provider = current();
    const client = (await provider.Client.find(clientId)) as (Client & { backchannelLogoutUri?: string }) | undefined;
    // The client may have been removed, or its logout URI may have been removed.
    if (!client?.backchannelLogoutUri || !clientOf(client)) return;
    const token = await logoutToken(provider, client, { sub: identifierOf(parts, client, sub), sid });
    const { status } = await parts.fetch(client.backchannelLogoutUri, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: token }).toString(),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status !== 200 && status !== 204) throw new Error(`${clientId} answered ${status}`);
  });
}
