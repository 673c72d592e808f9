/** What becomes of service providers, told to listeners. */
import type { EventName } from '../../../lib/extension-door.js';

declare module '../../../lib/extension-door.js' {
  interface EventMap {
    ServiceProviderCreated: { readonly AggregateId: string };
    /** By an administrator, by a seed, or because its metadata says something else. */
    ServiceProviderUpdated: { readonly AggregateId: string };
    ServiceProviderRemoved: { readonly AggregateId: string };
  }
}

export const eventTypes: readonly EventName[] = ['ServiceProviderCreated', 'ServiceProviderUpdated', 'ServiceProviderRemoved'];
