/** Responses to service providers. The browser posts each Response to the URL that was checked when the request came. */

import type { BrowserSignIn, Context, ExtensionContext } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import type { Entities } from '../entities/entity.js';
import type { SamlKeys } from '../entities/keys.js';
import { type Assertion, responseXml } from '../messages/response.js';
import { postFields } from '../messages/send.js';
import type { Status } from '../messages/status.js';
import { clientIdOf, type ServiceProvider } from '../service-providers/records.js';
import type { PendingRequest } from './pending-request.js';

export interface ResponseParts {
  readonly context: Pick<ExtensionContext, 'service' | 'pages' | 'http'>;
  readonly entities: Entities;
  readonly keys: Pick<SamlKeys, 'signer'>;
}

/** User and session of a Response, for the log. */
type Who = Pick<BrowserSignIn, 'oid' | 'session'>;

export type Responses = ReturnType<typeof createResponses>;

export function createResponses({
  context: {
    service: { now, logger },
    pages: { sendForm },
    http: { requestId },
  },
  entities,
  keys,
}: ResponseParts) {
  interface Outcome {
    readonly status: Status;
    readonly assertion?: Assertion;
    readonly who: Who | undefined;
  }

  async function send(ctx: Context, serviceProvider: ServiceProvider, request: PendingRequest, outcome: Outcome): Promise<void> {
    const { acsUrl, relayState, id } = request;
    const { status, assertion, who } = outcome;
    const xml = responseXml(
      {
        entityId: entities.ofOwner(serviceProvider.tid).entityId,
        destination: acsUrl,
        issuedAt: now(),
        status,
        ...present({ inResponseTo: id }),
        ...(assertion ? { assertion } : {}),
      },
      { signer: await keys.signer(), serviceProvider },
    );
    const { code, subCode, message: statusMessage } = status;
    const about = { user: who?.oid, session: who?.session, inResponseTo: id };
    logger.info(
      { requestId: requestId(ctx), serviceProvider: serviceProvider.id, status: code, subStatus: subCode, statusMessage, ...about },
      'saml.response',
    );
    await sendForm(ctx, { action: acsUrl, fields: postFields('SAMLResponse', xml, relayState), client: clientIdOf(serviceProvider) });
  }
  return {
    /** Sends a Response without an assertion. @see SAML Core §3.2.2 */
    refuse: (ctx: Context, serviceProvider: ServiceProvider, request: PendingRequest, status: Status, who?: Who): Promise<void> =>
      send(ctx, serviceProvider, request, { status, who }),
    /** Sends a Response with an assertion. @throws UnwritableText */
    assert: (ctx: Context, serviceProvider: ServiceProvider, request: PendingRequest, assertion: Assertion, who: Who): Promise<void> =>
      send(ctx, serviceProvider, request, { status: { code: 'Success' }, assertion, who }),
  };
}
