/** Proof that a message is from the service provider. Only the signed part is read afterwards. */
import { Attempt, addressBlock, type Context, type ExtensionContext } from '../../../lib/extension-door.js';
import type { Carried, Detached } from '../bindings/carried.js';
import { RefusedMessage } from '../messages/refused.js';
import type { ServiceProvider } from '../service-providers/records.js';
import { isSignatureAlgorithm, isSignedByOne } from '../xml/algorithms.js';
import { keysOf } from '../xml/certificates.js';
import { BadSignature, signaturesIn, signedRoot } from '../xml/signature.js';

/** Returns the signed root; undefined for an unsigned message, and for a service provider without a signing certificate. */
export type Prove = (
  ctx: Context,
  serviceProvider: ServiceProvider,
  carried: Carried,
  xml: string,
  root: Element,
) => Promise<Element | undefined>;

export function createProve({ limits: { limit } }: Pick<ExtensionContext, 'limits'>): Prove {
  const [ofAll, ofOne] = [limit('signaturesFromAddress'), limit('signaturesOfProvider')];

  /**
   * Counts a form as an attempt before its signature is verified, because many forms may arrive concurrently. Only an invalid signature stays counted. Only
   * forms are counted, because a form costs as much as ten URLs, and verifying a URL costs less than counting it.
   */
  async function counted<Proved>(ctx: Context, { id }: ServiceProvider, prove: () => Proved): Promise<Proved> {
    const address = addressBlock(ctx.ip);
    const attempt = new Attempt();
    const counts = [await attempt.count(ofAll, address), await attempt.count(ofOne, id, address)];
    if (counts.some(({ isOver }) => isOver)) {
      await attempt.giveBack();
      throw new RefusedMessage('too_many_bad_signatures');
    }
    try {
      const proved = prove();
      await attempt.giveBack();
      return proved;
    } catch (error) {
      if (!(error instanceof BadSignature && error.reason === 'signature_invalid')) await attempt.giveBack();
      throw error;
    }
  }

  return async (ctx, serviceProvider, { binding, detached }, xml, root) => {
    const isEnveloped = signaturesIn(root).length > 0;
    // pysaml2 sends both signatures. Only the signature of the URL counts. @see SAML Bindings §3.4.4.1
    if (binding === 'redirect' && isEnveloped && !detached) throw new RefusedMessage('signature_enveloped');
    if (serviceProvider.signingCertificates.length === 0) return undefined;
    if (detached) {
      checkDetached(detached, serviceProvider);
      return root;
    }
    if (!isEnveloped) return undefined;
    return counted(ctx, serviceProvider, () => signedRoot(xml, root, keysOf(serviceProvider.signingCertificates)));
  };
}

function checkDetached({ octets, algorithm, signature }: Detached, { signingCertificates }: ServiceProvider): void {
  if (!isSignatureAlgorithm(algorithm)) throw new RefusedMessage('signature_alg_not_allowed');
  const keys = keysOf(signingCertificates);
  if (!octets.some((signed) => isSignedByOne(algorithm, keys, signed, signature, ['ieee-p1363', 'der'])))
    throw new RefusedMessage('signature_invalid');
}
