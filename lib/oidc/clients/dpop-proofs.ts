/** Checks of DPoP proofs, before oidc-provider verifies them. @see RFC 9449 §4.3 */
import type { IncomingHttpHeaders } from 'node:http';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { errors } from 'oidc-provider';
import { jwtProblem } from './jwts.js';

/** Maximum characters of a DPoP proof, enough for a key and a signature of any algorithm. */
const LONGEST_PROOF = 8192;

/** Refuses DPoP proofs that {@link jwtProblem} refuses, and DPoP proofs that are too long. @throws InvalidDpopProof */
export function checkProof(headers: IncomingHttpHeaders): void {
  const proof = String(headers.dpop ?? '');
  if (proof.length > LONGEST_PROOF)
    throw new errors.InvalidDpopProof(`The DPoP proof is too long. Send at most ${LONGEST_PROOF} characters.`);
  const problem = proof === '' ? undefined : proofProblem(proof);
  if (problem) throw new errors.InvalidDpopProof(`The DPoP proof ${problem}`);
}

function proofProblem(jwt: string): string | undefined {
  try {
    return jwtProblem(decodeProtectedHeader(jwt), decodeJwt(jwt));
  } catch {
    // oidc-provider refuses a proof that is not a JWT.
    return undefined;
  }
}
