import type { EventListener, EventName, IdpEvent } from '../../events.js';

export interface Events {
  /**
   * Registers a listener. The listener gets each event at least once: again after it rejected, threw or took longer than 30 seconds, and after
   * a node crashed. Register the listener before anything else is awaited after the service is created.
   * @returns a function that removes the listener.
   */
  on<Name extends EventName>(name: Name, listener: EventListener<Name>): () => void;
}

/** Handles an event. A listener is distinguished by its identity, so the same function registered twice is two listeners. */
export type Listening = (event: IdpEvent) => void | Promise<void>;

export interface Listeners extends Events {
  /** Returns the listeners in the order of their registration. */
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
