import type { EventListener, EventName, IdpEvent } from '../../events.js';

export interface Events {
  /**
   * The listener gets each event at least once: again after it rejected, threw or took longer than 30 seconds, and after a node died. Listen before
   * anything else is awaited once the service is created.
   * @returns what stops the listener.
   */
  on<Name extends EventName>(name: Name, listener: EventListener<Name>): () => void;
}

/** A listener as it was given; the same one given twice is two. */
export type Listening = (event: IdpEvent) => void | Promise<void>;

export interface Listeners extends Events {
  /** In the order they came. */
  of(name: string): readonly Listening[];
}

export function createListeners(): Listeners {
  const listeners = new Map<string, Set<Listening>>();
  return {
    on(name, listener) {
      const entry: Listening = (event) => listener(event as IdpEvent<typeof name>);
      const entries = listeners.get(name) ?? new Set();
      listeners.set(name, entries.add(entry));
      return () => entries.delete(entry);
    },
    of: (name) => [...(listeners.get(name) ?? [])],
  };
}
