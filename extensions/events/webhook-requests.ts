/** Parts that the operations of webhooks share: scopes, parameters, and the webhook that a request names. */
import { type ExtensionContext, IdpError, type OperationRequest, present } from '../../lib/extension-door.js';
import { type WebhookRow, webhooks } from './records.js';

export type Request = OperationRequest<unknown, unknown, unknown>;

export const read = { scope: 'idp.webhooks:read' } as const;
export const write = { scope: 'idp.webhooks:write' } as const;

export function paramsOf({ params }: Request): { readonly tid?: string; readonly id: string } {
  const { tid, id = '' } = params as { readonly tid?: string; readonly id?: string };
  return { id, ...present({ tid }) };
}

/** Returns access to the webhooks of the tenant in the path, or of the instance. */
export function webhooksOf(context: ExtensionContext) {
  const rowsOf = (request: Request) => context.records.collection(webhooks, paramsOf(request).tid ?? context.records.ofInstance);
  return {
    rowsOf,
    /** Returns the webhook in the path. @throws IdpError `not_found` */
    async require(request: Request): Promise<WebhookRow> {
      const row = await rowsOf(request).get(paramsOf(request).id);
      if (row === undefined) throw new IdpError('not_found');
      return row;
    },
  };
}
