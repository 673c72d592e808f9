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

/** What a logout token says, before the client's own view of `sub`. */
interface Notice {
  readonly clientId: string;
  readonly sid: string;
  /** The grant's. */
  readonly sub: string;
}

/** Milliseconds a client has to answer, and bytes that are read of it. */
const TIMEOUT_MS = 2_500;
const MAX_BYTES = 16_384;

type NoticeParts = Pick<OidcParts, 'impersonationRules' | 'directory' | 'participants' | 'logger'>;

/** The end of sign-ins, on its way to the clients that took part. */
export class LogoutNotices {
  /** Names what is sent together. */
  readonly batch = randomUUID();
  /** What the clients were told, one each. */
  readonly #told = new Map<string, Notice>();
  readonly #enqueued: Enqueued[] = [];
  readonly #parts: NoticeParts;
  readonly #directory: OidcParts['directory'];
  /** Sign-ins that participants were asked about, one each. */
  readonly #ended = new Map<string, EndedSignIn>();

  readonly #asked: ImpersonationEnding;

  /** @param asked how acting as somebody else ends, where who acts asks for it */
  constructor(parts: NoticeParts, asked: ImpersonationEnding = { isAsked: false }) {
    this.#parts = parts;
    this.#directory = parts.directory;
    this.#asked = asked;
  }

  /**
   * Enqueues what the clients of a session have to know, before the change: told twice is harmless, not told is not.
   * @param key of the session, where its sign-in ends.
   */
  async enqueue(session: SessionPayload, key?: ArtifactKey): Promise<void> {
    // On its record before it ends, with what was set aside for it and with what it is set aside for.
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

  /** Whether a client is told over the back channel. */
  get isSending(): boolean {
    return this.#enqueued.length > 0;
  }

  /** The change is there. */
  release(): void {
    for (const { release } of this.#enqueued) release();
  }

  /** Addresses that the browser itself has to call. @see OpenID Connect Front-Channel Logout 1.0 §2 */
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

/** Each client of a session once for every sign-in it knows of. */
function noticesOf({ grants = [], authorizations = {}, accountId, sub }: SessionPayload): Notice[] {
  const ofGrants = grants.map((grant) => ({ clientId: grant.clientId, sid: grant.sid, sub: grant.sub ?? grant.accountId }));
  const withGrant = new Set(grants.map(({ clientId }) => clientId));
  const others = Object.entries(authorizations).flatMap(([clientId, { sid }]) =>
    sid && accountId && !withGrant.has(clientId) ? [{ clientId, sid, sub: typeof sub === 'string' ? sub : accountId }] : [],
  );
  const notices = [...ofGrants, ...others].map((notice) => [JSON.stringify(notice), notice] as const);
  return [...new Map(notices).values()];
}

/** Sends logout tokens: each attempt has one of its own, because they live for two minutes. @see OpenID Connect Back-Channel Logout 1.0 §2.5 */
export function sendLogoutTokens(parts: OidcParts, current: () => Provider): void {
  parts.directory.deliveries.handle(KIND, async ({ data }: Delivery) => {
    const { clientId, sid, sub } = data as unknown as Notice;
    const provider = current();
    const client = (await provider.Client.find(clientId)) as (Client & { backchannelLogoutUri?: string }) | undefined;
    // Who is gone, or wants to hear no more, has nothing to be told.
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
