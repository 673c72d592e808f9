/** The exchange of a grant, which is the same at both doors. */
import { errors } from 'oidc-provider';
import { LostWrite, lateRefusals } from '../../artifacts/lost-writes.js';
import type { SpentTokenRules } from '../grants/refresh-token.js';
import type { TokenRequest } from '../token-request.js';

/**
 * Runs a grant type and commits its tokens before the answer is made, so that the second of two uses of one credential is refused.
 * @param mint puts the new tokens into the unit of work of the request
 * @throws InvalidGrant
 */
export type Redeem = <T>(name: string, request: TokenRequest, mint: () => Promise<T>) => Promise<T>;

/**
 * Grant types that run again after a concurrent request wrote first. An exchange of an extension runs once.
 *
 * Within the grace period, the second of two refreshes finds the successor that the first refresh wrote. The second use of a code finds that the code was
 * used, and ends the code's grant unless the use is a retry.
 */
const mintedAgain: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token']);

export const createRedeem =
  ({ admit, refuseReplay }: SpentTokenRules): Redeem =>
  async (name, request, mint) => {
    const { unit } = request;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await mint();
        await unit.commit();
        return answer;
      } catch (error) {
        // The token may have been used since the request began.
        if (error instanceof errors.InvalidGrant) await refuseReplay(request);
        if (!(error instanceof LostWrite)) throw error;
        if (attempt > 0 || !mintedAgain.has(name)) throw lateRefusals.redeem();
        unit.reset();
        await admit(request);
      }
    }
  };
