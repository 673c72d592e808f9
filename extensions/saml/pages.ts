/** What people see where a service provider cannot be answered. */
import type { Context, ExtensionContext, View } from '../../lib/extension-door.js';
import type { Refusal } from './messages/refused.js';

export type Pages = ReturnType<typeof createPages>;

export function createPages({ pages: { view }, http: { requestId } }: Pick<ExtensionContext, 'pages' | 'http'>) {
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
    /** With the reason, for who looks after the service provider. */
    refused: (ctx: Context, reason: Refusal, status = 400): Promise<void> =>
      show(ctx, reason === 'unknown_service_provider' ? 'unknown' : 'refused', status, {
        parts: [{ part: 'text', text: { key: 'saml.refused.reason', values: { reason } } }],
      }),
    /** What was asked for was answered before, or waited too long. */
    expired: (ctx: Context): Promise<void> => show(ctx, 'expired', 400),
    /** Of a sign-in that began here: there is nobody to tell. */
    notSignedIn: (ctx: Context, application: string): Promise<void> =>
      show(ctx, 'notSignedIn', 403, { lead: { key: 'saml.notSignedIn.text', values: { application } } }),
    signedOut: (ctx: Context): Promise<void> => show(ctx, 'signedOut', 200),
  };
}
