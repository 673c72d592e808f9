/** Requests to sign in on another device, for tests of the users' answers. */

import type { IdentityProvider } from 'tenant-idp';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import { createAnnounce, createAnnounceRequest } from '../../../extensions/ciba/notifications/events.js';
import type { Asked } from '../../../extensions/ciba/requests/record.js';
import { createRequests, type Requests, type StartedRequest } from '../../../extensions/ciba/requests/requests.js';
import { present } from '../../../lib/present.js';
import { basic, postForm } from '../client/agent.js';

const grantType = 'urn:openid:params:grant-type:ciba';

/** Returns a client for a seed. The client may send CIBA requests. */
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

/** Returns persons of one tenant. The name is also the password. A client may send five requests to each user in ten minutes. */
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
  /** Requests of a node that dies as soon as a decision is written, so that the node itself notifies nobody. */
  readonly dying: Requests;
  /** Starts a client's request to a user, as the endpoint does. */
  ask(userName: string, settings?: AskedSettings): Promise<StartedRequest>;
}

/** @param idp returns the service, once the service runs. */
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

/** Returns the answer that the client gets for its `auth_req_id`. */
export const redeem = (issuer: string, authReqId: string, client = 'desk') =>
  postForm(
    `${issuer}/connect/token`,
    { grant_type: grantType, auth_req_id: authReqId },
    { authorization: basic(client, `${client}-secret`) },
  );
