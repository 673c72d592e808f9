/** Events of entities. The aggregate of a signing key's events is the signing key. The aggregate of a setting's event is the tenant. */

declare module '../../../lib/extension-door.js' {
  interface EventMap {
    /** A signing key was added: the first signing key, which signs immediately, or the next signing key, which metadata publishes. */
    SamlSigningKeyAdded: { readonly AggregateId: string; readonly State: 'active' | 'next' };
    /** The signing key signs from now on. The previous signing key is retiring, and stays in metadata until it is removed. */
    SamlSigningKeyActivated: { readonly AggregateId: string; readonly PreviousKeyId: string };
    SamlSigningKeyRemoved: { readonly AggregateId: string };
    /** The settings of a tenant's entity changed. The aggregate is the tenant. */
    SamlEntityUpdated: { readonly AggregateId: string; readonly WantAuthnRequestsSigned: boolean };
  }
}

export const entityEvents = ['SamlSigningKeyAdded', 'SamlSigningKeyActivated', 'SamlSigningKeyRemoved', 'SamlEntityUpdated'] as const;
