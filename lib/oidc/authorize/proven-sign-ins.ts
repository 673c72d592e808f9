/** Sign-ins that were proven on pages of extensions. An interaction takes up the sign-in, in the browser in which the sign-in was proven. */

import type { Context } from 'koa';
import type { ProvenSignIn } from '../../contract/sign-in/sign-in-request.js';
import { present } from '../../present.js';
import type { OidcDependencies } from '../context.js';
import { createOneTimeRecords } from '../sessions/one-time-records.js';

/** Parameter of a request by an extension: the reference of the sign-in. */
export const provenParameter = '__proven';

interface Kept {
  readonly browser: string;
  readonly signIn: ProvenSignIn;
}

/** Stored record of a sign-in that was taken up. */
interface Taken {
  readonly browser: string | undefined;
  readonly uid: string;
}

export function createProvenSignIns(parts: Pick<OidcDependencies, 'artifacts' | 'sealer' | 'browsers'>) {
  const records = createOneTimeRecords<Kept>(parts, { kind: 'ProvenSignIn', purpose: 'proven sign-in' });
  return {
    keep: (ctx: Context, { oid, amr, idp, method, used, mfaIn, heldTo, proof }: ProvenSignIn): Promise<string> =>
      records.keep({
        browser: parts.browsers.begin(ctx),
        signIn: {
          oid,
          amr,
          idp,
          ...present({ method, used, mfaIn, heldTo }),
          proof,
        },
      }),

    /** @param uid of the interaction that takes the sign-in up. */
    async take(ctx: Context, reference: string, uid: string): Promise<ProvenSignIn | undefined> {
      const kept = await records.take(reference, JSON.stringify({ browser: parts.browsers.browserOf(ctx), uid } satisfies Taken));
      return kept && parts.browsers.isBoundHere(ctx, kept) ? kept.signIn : undefined;
    },

    /** Returns the uid of the interaction that took the sign-in up in this browser. */
    async takenBy(ctx: Context, reference: string): Promise<string | undefined> {
      const note = await records.noteOf(reference);
      const taken = note === undefined ? undefined : (JSON.parse(note) as Taken);
      return taken && parts.browsers.isBoundHere(ctx, taken) ? taken.uid : undefined;
    },
  };
}
