/** Events of the keys that sign SAML messages. Their aggregate is the key. */

declare module '../../../lib/extension-door.js' {
  interface EventMap {
    /** There is another key: the first, which signs at once, or the next, which is published. */
    SamlSigningKeyAdded: { readonly AggregateId: string; readonly State: 'active' | 'next' };
    /** The key signs from now on; the one before is retiring, and published until it is removed. */
    SamlSigningKeyActivated: { readonly AggregateId: string; readonly PreviousKeyId: string };
    SamlSigningKeyRemoved: { readonly AggregateId: string };
  }
}

export const keyEvents = ['SamlSigningKeyAdded', 'SamlSigningKeyActivated', 'SamlSigningKeyRemoved'] as const;
