/** Pages that a user sees if the service cannot answer a service provider. */
import type { Context, ExtensionContext, View } from '../../lib/extension-door.js';
import type { Refusal } from './messages/refused.js';

export type Pages = ReturnType<typeof createPages>;

export function createPages({ pages: { view }, http: { requestId }, service }: Pick<ExtensionContext, 'pages' | 'http' | 'service'>) {
  const show = (ctx: Context, name: string, status: number, { parts = [], ...more }: Partial<View> = {}): Promise<void> => {
    const reference = { key: 'saml.reference', values: { reference: requestId(ctx) } };
    return view(ctx, {
      title: `saml.${name}.title`,
      lead: `saml.${name}.text`,
      status,
      ...more,
      parts: [...parts, ...(status === 200 ? [] : [{ part: 'text', text: reference } as const])],
    });
  };
  return {
    /** Shows that a message is refused, with the reason for the operator of the service provider. */
    refused: (ctx: Context, reason: Refusal, status = 400): Promise<void> =>
      show(ctx, reason === 'unknown_service_provider' ? 'unknown' : 'refused', status, {
        parts: [{ part: 'text', text: { key: 'saml.refused.reason', values: { reason } } }],
      }),
    /** Shows that the request was answered before, or has expired. */
    expired: (ctx: Context): Promise<void> => show(ctx, 'expired', 400),
    /** Shows that a sign-in without an AuthnRequest failed. No service provider waits for a response. */
    notSignedIn: (ctx: Context, application: string): Promise<void> =>
      show(ctx, 'notSignedIn', 403, { lead: { key: 'saml.notSignedIn.text', values: { application } } }),
    /** Shows that the user is signed out, and leads to a new sign-in at the account page. */
    signedOut: (ctx: Context): Promise<void> =>
      show(ctx, 'signedOut', 200, {
        parts: [{ part: 'link', text: 'saml.signedOut.again', href: service.url(`${service.own}/account`), look: 'quiet' }],
      }),
  };
}
