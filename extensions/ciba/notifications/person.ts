/** Notifications of a user about a request: by the host's push or SMS, and by mail. No notification contains anything that answers the request. */
import {
  type Account,
  type CibaNotification,
  type Client,
  type DeliveryHandler,
  type ExtensionContext,
  type Letter,
  type Mail,
  present,
  utcTime,
  withTimeLimit,
} from '../../../lib/extension-door.js';
import { requestPath } from '../person/pages.js';
import type { AuthenticationRequest } from '../requests/record.js';
import type { Requests } from '../requests/requests.js';

/** Milliseconds that the host's `notify` may take. */
const TIMEOUT_MS = 10_000;

interface Waiting {
  readonly request: AuthenticationRequest;
  readonly account: Account;
  readonly client: Client;
}

/** Returns a pending request with its account and client; undefined for a request that was decided, was replaced or expired. */
async function waiting({ directory }: ExtensionContext, requests: Pick<Requests, 'read'>, id: string): Promise<Waiting | undefined> {
  const request = await requests.read(id);
  if (request?.state !== 'pending') return undefined;
  const [account, client] = await Promise.all([directory.accounts.findByOid(request.oid), directory.clients.get(request.clientId)]);
  return account && client && { request, account, client };
}

/** Notifies the host. @throws Error if the host's `notify` failed, so that the delivery is retried */
export const createNotify =
  (context: ExtensionContext, requests: Pick<Requests, 'read'>): DeliveryHandler =>
  async ({ data }) => {
    const { logger, url } = context.service;
    const { notify } = context.service.ciba;
    const found = await waiting(context, requests, String(data.id));
    if (!found || !notify) return;
    const { clientId, tid } = found.request;
    try {
      const notification = notificationOf(found, url(requestPath(context.service, found.request.id)));
      await withTimeLimit(TIMEOUT_MS, (signal) => notify(notification, signal));
    } catch (err) {
      logger.warn({ err, clientId, tid }, 'the host failed to notify a user of an authentication request, and the service retries');
      // The queue stores this text, and the host's own error text may contain personal data.
      throw new Error('the host did not take the request');
    }
  };

function notificationOf({ request, account, client }: Waiting, url: string): CibaNotification {
  const { id, oid, tid, scopes, bindingMessage, messageFormat, initiator, acrValues, uiLocales, createdAt, expiresAt } = request;
  const { givenName, familyName, email, phoneNumber, user } = account.person;
  return Object.freeze({
    id,
    url,
    oid,
    tid,
    userName: user.userName,
    ...(givenName !== undefined && { givenName }),
    ...(familyName !== undefined && { familyName }),
    ...present({ email, phoneNumber }),
    clientId: client.id,
    clientName: client.name,
    ...present({ bindingMessage }),
    bindingMessageFormat: messageFormat,
    callInitiator: initiator,
    ...present({ acrValues }),
    scopes: [...scopes],
    ...present({ uiLocales }),
    createdAt,
    expiresAt,
  });
}

/** Mails the user the URL of the request, to the address for mail about the account. */
export const createSendMail =
  (context: ExtensionContext, requests: Pick<Requests, 'read'>, mail: Mail): DeliveryHandler =>
  async ({ data }) => {
    const found = await waiting(context, requests, String(data.id));
    const to = found && context.directory.accounts.emailOf(found.account.person);
    if (found && to !== undefined) await mail.send(letterOf(context, found, to));
  };

/** Returns the mail. The mail names no person, because the owner of the mailbox may not be the person of the account. */
function letterOf(context: ExtensionContext, { request, account, client }: Waiting, to: string): Letter {
  const { tenant, person } = account;
  const locale = request.uiLocales?.split(' ')[0];
  const values = {
    client: client.name,
    tenant: tenant.name,
    time: utcTime(request.expiresAt, 'long'),
  };
  const said = (name: string) => ({ key: `ciba.mail.${name}`, values });
  return {
    to,
    kind: 'ciba',
    rateLimit: 'anybody',
    tid: tenant.id,
    clientId: client.id,
    person,
    ...present({ locale }),
    subject: said('subject'),
    parts: [
      { part: 'text', text: said('greeting') },
      { part: 'text', text: said('text') },
      { part: 'button', text: 'ciba.mail.button', href: context.service.url(requestPath(context.service, request.id)) },
      { part: 'note', text: said('until') },
      { part: 'note', text: 'ciba.mail.ignore' },
    ],
  };
}
