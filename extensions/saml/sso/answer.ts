/**
 * Turns a completed sign-in into a Response. Everything that the request asked for is checked again, because the user may have completed another sign-in.
 */
import {
  type BrowserSignIn,
  type Context,
  type ExtensionContext,
  IdpError,
  present,
  type SignInAnswer,
} from '../../../lib/extension-door.js';
import type { Entities } from '../entities/entity.js';
import type { NameId } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { Assertion } from '../messages/response.js';
import type { Status } from '../messages/status.js';
import type { Pages } from '../pages.js';
import type { ActiveServiceProviders } from '../service-providers/active-service-providers.js';
import { clientIdOf, type ServiceProvider } from '../service-providers/records.js';
import type { Participants } from '../slo/participants.js';
import { UnwritableText } from '../xml/write.js';
import { releasedAttributes } from './attributes.js';
import { wantedContext } from './authn-context.js';
import { tenantsOf } from './clients.js';
import type { NameIds } from './name-id.js';
import { type PendingRequest, takePendingRequest } from './pending-request.js';
import type { Responses } from './responses.js';
import { statuses, statusOf } from './statuses.js';

/** Milliseconds that an assertion is valid after its issue, and before it, because the clock of a service provider may be behind. */
const VALID_MS = 300_000;
const EARLY_MS = 60_000;
/** Seconds that the clocks of the nodes may differ by. */
const NODE_SKEW_SECONDS = 5;

export interface AnswerParts {
  readonly context: Pick<ExtensionContext, 'records' | 'claims' | 'service' | 'signIn'>;
  readonly activeServiceProviders: Pick<ActiveServiceProviders, 'get'>;
  readonly entities: Entities;
  readonly nameIds: NameIds;
  readonly participants: Participants;
  readonly responses: Responses;
  readonly pages: Pages;
}

export function createAnswer({ context, activeServiceProviders, entities, nameIds, participants, responses, pages }: AnswerParts) {
  /** Returns whether the subject of the request is this account. */
  async function isOfSubject(here: BrowserSignIn, serviceProvider: ServiceProvider, subject: NameId): Promise<boolean> {
    const ownNameIds = (await participants.find(here.session, serviceProvider)).flatMap(({ oid, nameId }) =>
      oid === here.oid ? [nameId] : [],
    );
    return nameIds.isSubject(here.account, serviceProvider, entities.ofOwner(serviceProvider.tid), subject, ownNameIds);
  }

  async function assertionOf(
    here: BrowserSignIn,
    serviceProvider: ServiceProvider,
    request: PendingRequest,
  ): Promise<Assertion | undefined> {
    const { nameIdFormat } = request;
    const nameId = await nameIds.nameIdOf(here.account, serviceProvider, nameIdFormat, entities.ofOwner(serviceProvider.tid));
    const authnContextClassRef = wantedContext(request.wantedContext)?.classOf(here);
    if (!nameId || authnContextClassRef === undefined) return undefined;
    const attributes = await releasedAttributes(context, serviceProvider, here);
    const entered = await participants.enter(here, serviceProvider, nameId, nameIdFormat === 'transient');
    const now = context.service.now();
    const end = sessionEnd(here, serviceProvider, now, context.service.lifetimes.session);
    return {
      nameId: entered.nameId,
      audience: serviceProvider.entityId,
      sessionIndex: entered.sessionIndex,
      authnInstant: here.authTime * 1000,
      authnContextClassRef,
      attributes,
      notBefore: now - EARLY_MS,
      notOnOrAfter: now + VALID_MS,
      ...present({ sessionNotOnOrAfter: end }),
    };
  }

  async function answerTo(ctx: Context, answer: SignInAnswer, serviceProvider: ServiceProvider, request: PendingRequest): Promise<void> {
    const who = 'signedIn' in answer ? answer.signedIn : undefined;
    const refuse = (status: Status): Promise<void> =>
      request.id === undefined
        ? pages.notSignedIn(ctx, serviceProvider.name)
        : responses.refuse(ctx, serviceProvider, request, status, who);
    const failed = (error: string): Promise<void> => {
      const status = statusOf(error, request.isPassive);
      if (!status) throw new IdpError('store_unavailable');
      return refuse(status);
    };
    if ('error' in answer) return failed(answer.error);
    const { signedIn: here } = answer;
    const unmet = unmetDemand(here, serviceProvider, request, context.records.ofInstance);
    if (unmet) return refuse(unmet);
    if (request.subject && !(await isOfSubject(here, serviceProvider, request.subject))) return refuse(statuses.unknownPrincipal);
    const assertion = await assertionOf(here, serviceProvider, request);
    if (!assertion) return refuse(statuses.requestDenied('The user has no name of this format.'));
    // A sign-out after `participants.enter` notifies this service provider. A sign-out before it is detected here.
    const now = await context.signIn.current(ctx, answer.client);
    // A sign-in of another person in the same browser keeps the name of the session, so the user is compared too.
    if (now?.session !== here.session || now.oid !== here.oid) return failed('login_required');
    try {
      await responses.assert(ctx, serviceProvider, request, assertion, here);
    } catch (error) {
      if (!(error instanceof UnwritableText)) throw error;
      await refuse(statuses.requestDenied('The name of the user has characters that XML cannot carry.'));
    }
  }

  /** Answers the browser that returns from the sign-in. Each request is answered once. @throws RefusedMessage */
  return async (ctx: Context): Promise<void> => {
    const answer = await context.signIn.answer(ctx);
    const request = answer && (await takePendingRequest(context, answer.state));
    if (!request || answer.client !== clientIdOf({ id: request.serviceProvider })) return pages.expired(ctx);
    const serviceProvider = await activeServiceProviders.get(request.serviceProvider);
    if (!serviceProvider) throw new RefusedMessage('unknown_service_provider', { serviceProviderId: request.serviceProvider });
    // An administrator may have removed the URL since the request.
    if (!serviceProvider.assertionConsumerServices.some(({ url }) => url === request.acsUrl))
      throw new RefusedMessage('acs_not_registered');
    return answerTo(ctx, answer, serviceProvider, request);
  };
}

/** Returns the status for the first requirement that the sign-in does not meet. The request and the service provider have requirements. */
function unmetDemand(
  here: BrowserSignIn,
  serviceProvider: ServiceProvider,
  { forceAuthn, receivedAt, wantedContext: understood }: PendingRequest,
  ofInstance: string,
): Status | undefined {
  const { account, amr, authTime, act, idp, method } = here;
  if (!(tenantsOf(serviceProvider, ofInstance)?.includes(account.tenant.id) ?? true))
    return statuses.requestDenied('The user is of another tenant.');
  if (act && serviceProvider.impersonation === 'refuse') return statuses.requestDenied('Somebody acts as the user.');
  if (forceAuthn && authTime < Math.floor(receivedAt / 1000) - NODE_SKEW_SECONDS) return statuses.authnFailed;
  const { idp: wantedIdp = idp } = serviceProvider;
  if (wantedIdp !== idp && wantedIdp !== method) return statuses.noAuthnContext;
  const wanted = wantedContext(understood);
  if ((wanted?.mfa || serviceProvider.requireMfa) && !amr.includes('mfa')) return statuses.noAuthnContext;
  return wanted?.classOf(here) === undefined ? statuses.noAuthnContext : undefined;
}

/**
 * Returns when the session at the service provider ends at the latest, in milliseconds since the epoch. Undefined if no end is stated.
 * @param lifetimeSeconds lifetime of a session of this service
 */
function sessionEnd(
  { authTime, endsAt }: BrowserSignIn,
  { sessionLifetimeSeconds: seconds }: ServiceProvider,
  now: number,
  lifetimeSeconds: number,
): number | undefined {
  const ends = [
    ...(seconds === undefined ? [] : [now + seconds * 1000, (authTime + lifetimeSeconds) * 1000]),
    ...(endsAt === undefined ? [] : [endsAt * 1000]),
  ];
  return ends.length === 0 ? undefined : Math.min(...ends);
}
