/** Events of entities: changes of the keys that sign SAML messages, whose aggregate is the key, and of the settings of a tenant's entity. */

declare module '../../../lib/extension-door.js' {
  interface EventMap {
    /** There is another key: the first, which signs at once, or the next, which is published. */
    SamlSigningKeyAdded: { readonly AggregateId: string; readonly State: 'active' | 'next' };
    /** The key signs from now on; the one before is retiring, and published until it is removed. */
    SamlSigningKeyActivated: { readonly AggregateId: string; readonly PreviousKeyId: string };
    SamlSigningKeyRemoved: { readonly AggregateId: string };
    /** The aggregate is the tenant. */
    SamlEntityUpdated: { readonly AggregateId: string; readonly WantAuthnRequestsSigned: boolean };
  }
}

export const entityEvents = ['SamlSigningKeyAdded', 'SamlSigningKeyActivated', 'SamlSigningKeyRemoved', 'SamlEntityUpdated'] as const;
