/** Reader of AuthnRequests. @see SAML Core §3.4.1 */

import { present } from '../../../lib/extension-door.js';
import type { AuthnRequest, RequestedAuthnContext } from '../messages/inbound.js';
import { nameIdUri } from '../messages/name-id.js';
import { RefusedMessage } from '../messages/refused.js';
import { attribute, children, elementsOf, one, ordered, textOf } from '../xml/elements.js';
import { MalformedXml } from '../xml/malformed.js';
import { ns } from '../xml/namespaces.js';
import { booleanAttribute, indexAttribute } from '../xml/values.js';
import { headElements, headOf, nameIdOf, type ReadMessage, short } from './message.js';

/** Classes in a request, at most. */
const MOST_CLASSES = 20;
const comparisons = ['exact', 'minimum', 'maximum', 'better'] as const;

/** Reads an AuthnRequest. @throws RefusedMessage, MalformedXml */
export function readAuthnRequest(root: Element): ReadMessage<AuthnRequest> {
  ordered(
    root,
    ...headElements,
    [ns.saml, 'Subject'],
    [ns.samlp, 'NameIDPolicy'],
    [ns.saml, 'Conditions'],
    [ns.samlp, 'RequestedAuthnContext'],
    [ns.samlp, 'Scoping'],
  );
  const { destination, ...head } = headOf(root);
  const acsUrl = short(attribute(root, 'AssertionConsumerServiceURL'), 'AssertionConsumerServiceURL');
  const acsIndex = indexAttribute(root, 'AssertionConsumerServiceIndex');
  if (acsUrl !== undefined && acsIndex !== undefined) throw new RefusedMessage('acs_ambiguous');
  const policy = one(root, ns.samlp, 'NameIDPolicy');
  const subject = one(root, ns.saml, 'Subject');
  const message: AuthnRequest = {
    kind: 'AuthnRequest',
    ...head,
    forceAuthn: booleanAttribute(root, 'ForceAuthn') ?? false,
    isPassive: booleanAttribute(root, 'IsPassive') ?? false,
    ...present({
      acsUrl,
      acsIndex,
      protocolBinding: short(attribute(root, 'ProtocolBinding'), 'ProtocolBinding'),
      nameIdFormat: nameIdUri(short(policy && attribute(policy, 'Format'), 'Format')),
      spNameQualifier: short(policy && attribute(policy, 'SPNameQualifier'), 'SPNameQualifier'),
      requestedAuthnContext: requestedAuthnContextOf(root),
      subject: subject && nameIdOf(subject),
    }),
  };
  return { message, ...present({ destination }) };
}

function requestedAuthnContextOf(root: Element): RequestedAuthnContext | undefined {
  const requested = one(root, ns.samlp, 'RequestedAuthnContext');
  if (!requested) return undefined;
  const wanted = attribute(requested, 'Comparison') ?? 'exact';
  const comparison = comparisons.find((each) => each === wanted);
  const classRefs = children(requested, ns.saml, 'AuthnContextClassRef').map((element) => short(textOf(element), 'AuthnContextClassRef'));
  const declarations = children(requested, ns.saml, 'AuthnContextDeclRef').length;
  const isOneKind = elementsOf(requested).length === Math.max(classRefs.length, declarations);
  if (!comparison || !isOneKind || classRefs.length + declarations === 0 || classRefs.length > MOST_CLASSES)
    throw new MalformedXml('xml_structure', 'RequestedAuthnContext');
  return { comparison, classRefs, hasDeclarations: declarations > 0 };
}
