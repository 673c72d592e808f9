/** Bindings of messages that the service sends: the query of a URL, or the fields of a form. @see SAML Bindings §3.4, §3.5 */
import { deflateRawSync } from 'node:zlib';
import { RSA_SHA256 } from '../xml/algorithms.js';
import type { Signer } from '../xml/sign.js';

export type MessageParameter = 'SAMLRequest' | 'SAMLResponse';

/** Returns a URL with the message and a signature over its parameters as the URL has them. @see SAML Bindings §3.4.4.1 */
export function redirectUrl(url: string, name: MessageParameter, xml: string, relayState: string | undefined, signer: Signer): string {
  const message = encodeURIComponent(deflateRawSync(xml).toString('base64'));
  const state = relayState === undefined ? '' : `&RelayState=${encodeURIComponent(relayState)}`;
  const signed = `${name}=${message}${state}&SigAlg=${encodeURIComponent(RSA_SHA256)}`;
  const [base = ''] = url.split('#', 1);
  return `${base}${base.includes('?') ? '&' : '?'}${signed}&Signature=${encodeURIComponent(signer.sign(signed))}`;
}

/** Returns the fields of a form that posts a message. The message itself is signed. @see SAML Bindings §3.5.4 */
export const postFields = (name: MessageParameter, xml: string, relayState: string | undefined): Record<string, string> => ({
  [name]: Buffer.from(xml).toString('base64'),
  ...(relayState !== undefined && { RelayState: relayState }),
});
