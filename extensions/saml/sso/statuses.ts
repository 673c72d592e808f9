/** Statuses of Responses without an assertion. @see SAML Core §3.2.2.2 */
import { present } from '../../../lib/extension-door.js';
import { type Status, type SubStatusCode, unknownPrincipal } from '../messages/status.js';

const responder = (subCode?: SubStatusCode): Status => ({ code: 'Responder', ...present({ subCode }) });

/** Errors of OAuth and OpenID Connect that mean: a page was needed. */
const ofPages: ReadonlySet<string> = new Set(['login_required', 'interaction_required', 'consent_required', 'account_selection_required']);

/** Returns the status for an error of the sign-in. Undefined if the error is temporary, so that no Response is sent. */
export function statusOf(error: string, isPassive: boolean): Status | undefined {
  if (error === 'temporarily_unavailable') return undefined;
  if (ofPages.has(error)) return responder(isPassive ? 'NoPassive' : 'AuthnFailed');
  if (error === 'unmet_authentication_requirements') return responder('NoAuthnContext');
  return responder(error === 'access_denied' ? 'RequestDenied' : undefined);
}

export const statuses = {
  unsupportedBinding: responder('UnsupportedBinding'),
  noPassive: responder('NoPassive'),
  noAuthnContext: responder('NoAuthnContext'),
  authnFailed: responder('AuthnFailed'),
  requestDenied: (message: string): Status => ({ ...responder('RequestDenied'), message }),
  invalidNameIdPolicy: (message: string): Status => ({ code: 'Requester', subCode: 'InvalidNameIDPolicy', message }),
  unknownPrincipal,
} as const satisfies Readonly<Record<string, Status | ((message: string) => Status)>>;
