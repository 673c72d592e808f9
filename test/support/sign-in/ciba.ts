/** Requests to sign in on another device, for tests of what their people do. */

import type { IdentityProvider } from 'tenant-idp';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { createAnnounce, createAnnounceRequest } from '../../../extensions/ciba/notifications/events.js';
import type { Asked } from '../../../extensions/ciba/requests/record.js';
import { createRequests, type Requests, type StartedRequest } from '../../../extensions/ciba/requests/requests.js';
import { present } from '../../../lib/present.js';
import { basic, postForm } from '../client/agent.js';

const grantType = 'urn:openid:params:grant-type:ciba';

/** A client that asks, as a seed has it. */
export const cibaClient = (id: string, more: { readonly metadata?: object; readonly [member: string]: unknown } = {}) => ({
  id,
  name: `The ${id}`,
  secret: `${id}-secret`,
  allowedScopes: ['openid', 'profile'],
  ...more,
  metadata: {
    grant_types: [grantType],
    backchannel_token_delivery_mode: 'poll',
    ...more.metadata,
  },
});

/** People of one tenant, each with a name for a password. Each may be asked five times in ten minutes. */
export const askedPeople = (domain: string, names: readonly string[]) =>
  names.map((name) => ({
    givenName: name,
    familyName: 'P',
    email: `${name}@${domain}`,
    user: { userName: `${name}@${domain}`, emailVerified: true, devPassword: name },
  }));

export interface AskedSettings extends Partial<Omit<Asked, 'oid' | 'tid'>> {
  readonly lifetimeSeconds?: number;
  readonly notificationToken?: string;
}

export interface Asking {
  readonly extension: Extension;
  readonly requests: Requests;
  /** The same of a node that dies as soon as a decision is written: it tells nobody itself. */
  readonly dying: Requests;
  /** A client asks for a person, as the endpoint lets it. */
  ask(userName: string, settings?: AskedSettings): Promise<StartedRequest>;
}

/** @param idp once it runs. */
export function createAsking(idp: () => IdentityProvider): Asking {
  let context: ExtensionContext | undefined;
  let requests: Requests | undefined;
  const made = (): { context: ExtensionContext; requests: Requests } => {
    if (!context) throw new Error('the service is not there yet');
    requests ??= createRequests(context, createAnnounce(context));
    return { context, requests };
  };
  return {
    extension: {
      name: 'asking',
      routes(_, given) {
        context = given;
      },
    },
    get requests() {
      return made().requests;
    },
    get dying() {
      const { context: given } = made();
      const announce = createAnnounce(given);
      return createRequests(given, async (request) => {
        await announce(request);
        return { release() {} };
      });
    },
    async ask(userName, { lifetimeSeconds = 120, notificationToken, clientId = 'desk', ...more } = {}) {
      const [account] = await idp().directory.accounts.candidates(userName);
      if (!account) throw new Error(`nobody is called ${userName}`);
      const asked: Asked = {
        oid: account.person.user.id,
        tid: account.tenant.id,
        clientId,
        scopes: ['openid'],
        messageFormat: 'plaintext',
        initiator: 'user',
        ...more,
      };
      const options = { lifetimeSeconds, ...present({ notificationToken }) };
      const started = await made().requests.start(asked, options);
      if (!started) throw new Error('one too many');
      await createAnnounceRequest(made().context)(started.request, account, { actor: `client:${clientId}`, requestId: 'asked' });
      return started;
    },
  };
}

/** Returns the client's answer for its `auth_req_id`. */
export const redeem = (issuer: string, authReqId: string, client = 'desk') =>
  postForm(
    `${issuer}/connect/token`,
    { grant_type: grantType, auth_req_id: authReqId },
    { authorization: basic(client, `${client}-secret`) },
  );
