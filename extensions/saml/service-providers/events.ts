/** Events of service providers. */
import type { EventName } from '../../../lib/extension-door.js';

declare module '../../../lib/extension-door.js' {
  interface EventMap {
    ServiceProviderCreated: { readonly AggregateId: string };
    /** Raised for a change by an administrator, by a seed, or by a refresh of metadata that changed it. */
    ServiceProviderUpdated: { readonly AggregateId: string };
    ServiceProviderRemoved: { readonly AggregateId: string };
  }
}

export const eventTypes: readonly EventName[] = ['ServiceProviderCreated', 'ServiceProviderUpdated', 'ServiceProviderRemoved'];
