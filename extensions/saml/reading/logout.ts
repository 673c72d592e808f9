/** Readers of logout messages. @see SAML Core §3.7 */

import { present } from '../../../lib/extension-door.js';
import type { LogoutRequest, LogoutResponse } from '../messages/inbound.js';
import { children, one, ordered, required, requiredAttribute, textOf } from '../xml/elements.js';
import { MalformedXml } from '../xml/malformed.js';
import { ns } from '../xml/namespaces.js';
import { instantAttribute } from '../xml/values.js';
import { headElements, headOf, idAttribute, nameIdOf, type ReadMessage, short } from './message.js';

/** Reads a LogoutRequest. @throws RefusedMessage, MalformedXml */
export function readLogoutRequest(root: Element): ReadMessage<LogoutRequest> {
  ordered(root, ...headElements, [ns.saml, 'BaseID'], [ns.saml, 'NameID'], [ns.saml, 'EncryptedID'], [ns.samlp, 'SessionIndex']);
  const { destination, ...head } = headOf(root);
  const notOnOrAfter = instantAttribute(root, 'NotOnOrAfter');
  const nameId = nameIdOf(root);
  if (!nameId) throw new MalformedXml('xml_structure', 'NameID');
  const sessionIndexes = children(root, ns.samlp, 'SessionIndex').map((element) => short(textOf(element), 'SessionIndex'));
  return {
    message: { kind: 'LogoutRequest', ...head, nameId, sessionIndexes },
    ...present({ destination, notOnOrAfter }),
  };
}

/** Reads a LogoutResponse. @throws RefusedMessage, MalformedXml */
export function readLogoutResponse(root: Element): ReadMessage<LogoutResponse> {
  ordered(root, ...headElements, [ns.samlp, 'Status']);
  const { destination, ...head } = headOf(root);
  const status = required(required(root, ns.samlp, 'Status'), ns.samlp, 'StatusCode');
  const below = one(status, ns.samlp, 'StatusCode');
  return {
    message: {
      kind: 'LogoutResponse',
      ...head,
      inResponseTo: idAttribute(root, 'InResponseTo'),
      status: short(requiredAttribute(status, 'Value'), 'Value'),
      ...(below && { subStatus: short(requiredAttribute(below, 'Value'), 'Value') }),
    },
    ...present({ destination }),
  };
}
